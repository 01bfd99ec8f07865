/** Pages that the first view does without, but for the playground: read together, when one of them is first opened. */
import './pages/access/access.ts';
import './pages/datasets/documents/documents.ts';
import './pages/evaluations/eval.ts';
import './pages/evaluations/evaluations.ts';
import './pages/evaluations/results.ts';
import './pages/graders/graders.ts';
import './pages/help/help.ts';
import './pages/models/aliases/aliases.ts';
import './pages/move/openai.ts';
import './pages/runs/compare.ts';
import './pages/settings/settings.ts';
import './pages/sweeps/new-sweep.ts';
import './pages/sweeps/sweep.ts';
import './pages/sweeps/sweeps.ts';
