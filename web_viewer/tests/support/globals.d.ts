/** Folder of the viewer; the bundler fills it in. */
declare const VIEWER_ROOT: string;
