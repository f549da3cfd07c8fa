/** What a login gives: stored as it is, in `auth.json`. Whatever else stands in it stays. */
export interface LoginCredentials {
  /** What lets a request in. */
  access: string;
  /** What gives another `access`; empty where nothing does. */
  refresh: string;
  /** When `access` ends, in milliseconds since the epoch. Default: never. */
  expires?: number | undefined;
  [field: string]: unknown;
}

/** How a login speaks with the user; the names are pi's. */
export interface LoginCallbacks {
  /** Shows an address to go to, and opens it where there is a browser. Any but http and https is only shown. */
  onAuth(info: { url: string; instructions?: string | undefined }): void;
  /** Shows a code, and the address where it is to be typed. */
  onDeviceCode(info: DeviceCodeInfo): void;
  /** Asks for a text. Rejects where the user gives the login up. */
  onPrompt(prompt: LoginPrompt): Promise<string>;
  /** Shows what goes on. */
  onProgress(message: string): void;
  /** Asks for the code, or the address with it, where the browser cannot come back by itself; beside what else is waited for. */
  onManualCodeInput(): Promise<string>;
  /** Lets the user choose; the id of the choice, undefined where there was none. */
  onSelect(prompt: {
    message: string;
    options: readonly { id: string; label: string; description?: string | undefined }[];
  }): Promise<string | undefined>;
  /** Aborted when the user gives the login up. */
  signal: AbortSignal;
}

/** A code that the user types somewhere else. */
export interface DeviceCodeInfo {
  userCode: string;
  verificationUri: string;
  /** Between two questions whether it was typed. */
  intervalSeconds?: number | undefined;
  expiresInSeconds?: number | undefined;
}

/** A question of a login. */
export interface LoginPrompt {
  message: string;
  placeholder?: string | undefined;
  /** Default false. */
  allowEmpty?: boolean | undefined;
  /** True: what is typed is not shown. Default false. */
  isSecret?: boolean | undefined;
}

/** How somebody logs in at a provider, as pi's `oauth` has it. */
export interface ProviderLogin {
  /** For people. */
  name: string;
  /** Runs the login; what it gives is stored. Throws where it fails. */
  login(callbacks: LoginCallbacks): Promise<LoginCredentials>;
  /**
   * Gives credentials that are good again; called once at a time, also by several processes. An error that says
   * `invalid_grant` ends the login; any other leaves it as it is, and the request is tried again.
   */
  refreshToken(credentials: LoginCredentials, signal: AbortSignal): Promise<LoginCredentials>;
  /** What is sent as the key. */
  getApiKey(credentials: LoginCredentials): string;
  /** Takes the credentials back at the provider, when the user logs out. */
  revoke?(credentials: LoginCredentials, signal: AbortSignal): Promise<void>;
}

/** What is known of a login without asking anybody. */
export interface LoginState {
  /** Milliseconds since the epoch; undefined for one that does not end. */
  expires: number | undefined;
}

/** How a logout ended. `kept`: the provider still holds what was stored good, for the reason named. */
export interface Logout {
  isRevoked: boolean;
  /** Why it was not revoked, where that was tried. */
  problem?: string;
}
