export { type LockOptions, locked } from "./file-lock.ts";
export { writePrivateFile } from "./keys/auth-file.ts";
export { type BrowserPlace, openBrowser, openPrivately, type PrivatelyOpened } from "./keys/browser.ts";
export { type KeyLoginOptions, keyLogin } from "./keys/login.ts";
export { type Loopback, type LoopbackOptions, openLoopback } from "./keys/loopback.ts";
export type { OAuthLoginOptions } from "./keys/oauth.ts";
export { oauthLogin } from "./keys/oauth.ts";
export type {
  DeviceCodeInfo,
  LoginCallbacks,
  LoginCredentials,
  LoginPrompt,
  ProviderLogin,
} from "./keys/provider-login.ts";
