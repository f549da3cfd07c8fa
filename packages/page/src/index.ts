export { type PageHtmlOptions, pageHtml } from "./html.ts";
export type { PageData } from "./page-data.ts";
export { type PageOptions, SessionPage } from "./session-page.ts";
