-- What is kept of each model is counted, and its size summed up, without reading answers.
DROP INDEX answers_by_model;
CREATE INDEX answers_by_model ON answers (model, number, bytes);
