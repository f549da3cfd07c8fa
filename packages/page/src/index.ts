export { type PageHtmlOptions, pageHtml } from "./html.ts";
export type { PageData } from "./page-data.ts";
export type { ModelSizes } from "./requests.ts";
export { type PageSource, type ServedPage, type ServeOptions, servePage } from "./serve.ts";
export { type PageOptions, SessionPage } from "./session-page.ts";
