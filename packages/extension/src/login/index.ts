export {
  keyLogin,
  locked,
  oauthLogin,
  openLoopback,
  writePrivateFile,
} from "@bonsai-agent/models/login";
export { openBrowser, openPrivately } from "./browser.ts";
