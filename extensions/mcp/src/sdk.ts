/** The parts of the SDK that Bonsai uses. Imported only once a server starts; a bundler drops the rest. */
export {
  auth,
  Client,
  extractWWWAuthenticateParams,
  OAuthError,
  OAuthErrorCode,
  refreshAuthorization,
} from "@modelcontextprotocol/client";
