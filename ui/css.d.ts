/** Stylesheets are bundled into `main.css`; importing one gives nothing. */
declare module '*.css';
