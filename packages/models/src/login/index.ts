export { type BrowserPlace, openBrowser } from "./browser.ts";
export { type Loopback, type LoopbackOptions, openLoopback } from "./loopback.ts";
