import './styles/main.css';
import './charts/chart.ts';
import './charts/chart-toolbar.ts';
import './elements/connection-badge.ts';
import './elements/copy.ts';
import './elements/dialog.ts';
import { keepLostFocus } from './elements/lost-focus.ts';
import { closeMenus } from './elements/menu.ts';
import './elements/toasts.ts';
import './app.ts';
import { readAllPages } from './read-page.ts';
import { connect } from './state/app.ts';
import { announceEnds } from './state/end-notices.ts';
import { listenToDrops } from './views/shell/drops.ts';

announceEnds();
closeMenus();
keepLostFocus();
listenToDrops();
connect();
// After the first view, which does without them.
setTimeout(readAllPages, 3_000);
