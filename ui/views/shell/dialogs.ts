/* What the header opens: one file of the page, which is read when it is first needed. */
import './palette.ts';
import './shortcuts-dialog.ts';
