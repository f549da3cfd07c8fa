export { writePrivateFile } from "../auth-file.ts";
export { type LockOptions, locked } from "../file-lock.ts";
export { type BrowserPlace, openBrowser, openPrivately, type PrivatelyOpened } from "./browser.ts";
export { type KeyLoginOptions, keyLogin } from "./key-login.ts";
export { type Loopback, type LoopbackOptions, openLoopback } from "./loopback.ts";
export { oauthLogin } from "./oauth.ts";
export type { OAuthLoginOptions } from "./oauth-client.ts";
export type {
  DeviceCodeInfo,
  LoginCallbacks,
  LoginCredentials,
  LoginPrompt,
  ProviderLogin,
} from "./provider-login.ts";
