export {
  keyLogin,
  type LoginCallbacks,
  type LoginCredentials,
  locked,
  oauthLogin,
  openLoopback,
  type ProviderLogin,
  writePrivateFile,
} from "@bonsai-agent/models/login";
export { openBrowser, openPrivately } from "./browser.ts";
