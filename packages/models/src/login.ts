export { locked } from "./file-lock.ts";
export { writePrivateFile } from "./keys/auth-file.ts";
export { openLoopback } from "./keys/loopback.ts";
export { oauthLogin } from "./keys/oauth.ts";
export {
  keyLogin,
  type LoginCallbacks,
  type LoginCredentials,
  type ProviderLogin,
} from "./keys/provider-login.ts";
