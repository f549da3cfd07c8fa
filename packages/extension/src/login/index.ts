export {
  keyLogin,
  type LoginCallbacks,
  type LoginCredentials,
  locked,
  oauthLogin,
  openBrowser,
  openLoopback,
  type ProviderLogin,
  writePrivateFile,
} from "@bonsai-agent/models/login";
