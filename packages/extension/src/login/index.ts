export {
  type BrowserPlace,
  type Loopback,
  type LoopbackOptions,
  openBrowser,
  openLoopback,
} from "@bonsai-agent/models/login";
