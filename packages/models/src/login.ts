export { type LockOptions, locked } from "./file-lock.ts";
export { writePrivateFile } from "./keys/auth-file.ts";
export { openBrowser, openPrivately } from "./keys/browser.ts";
export { type Loopback, type LoopbackOptions, openLoopback } from "./keys/loopback.ts";
export { type OAuthLoginOptions, oauthLogin } from "./keys/oauth.ts";
export type {
  LoginCallbacks,
  LoginCredentials,
  ProviderLogin,
} from "./keys/provider-login.ts";
export { type KeyLoginOptions, keyLogin } from "./keys/provider-login.ts";
