import { createHash } from "node:crypto";
import { mkdir, readFile, rm, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BonsaiError } from "@bonsai-agent/extension";
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";

/** A login at one server. */
export interface StoredLogin {
  /** The authorization server of the tokens. A refresh asks no other one. */
  discovery: OAuthDiscoveryState;
  client: StoredOAuthClientInformation;
  tokens: StoredOAuthTokens;
  /** Milliseconds since 1970; absent if the tokens do not say. */
  expiresAt?: number;
}

interface LoginStoreOptions {
  /** Bonsai's own folder. */
  home: string;
  server: string;
  url: string;
}

/** Longer than any refresh, which asks twice at most. */
const refreshLock = { staleMs: 90_000, waitMs: 90_000 };

/** Owner of the file of one server's login. Only the user can read it. */
export class LoginStore {
  readonly #server: string;
  readonly file: string;

  constructor({ home, server, url }: LoginStoreOptions) {
    // A server of the same name at another address has another login.
    const digest = createHash("sha256").update(`${server}\n${url}`).digest("hex").slice(0, 16);
    this.#server = server;
    this.file = join(home, "mcp-logins", `${server}-${digest}.json`);
  }

  /** Returns undefined without a login. @throws BonsaiError `mcp_login_damaged` */
  async read(): Promise<StoredLogin | undefined> {
    let text: string;
    try {
      text = await readFile(this.file, "utf8");
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw this.#damaged(error);
    }
    try {
      const login = JSON.parse(text) as StoredLogin;
      if (typeof login.tokens.access_token === "string" && typeof login.client.client_id === "string")
        return login;
    } catch (error) {
      throw this.#damaged(error);
    }
    throw this.#damaged(undefined);
  }

  async write(login: StoredLogin): Promise<void> {
    const { writePrivateFile } = await import("@bonsai-agent/extension/login");
    writePrivateFile(this.file, `${JSON.stringify(login, null, 2)}\n`);
  }

  /** @returns false if there was none */
  async remove(): Promise<boolean> {
    const isThere = (await stat(this.file).catch(() => undefined)) !== undefined;
    await rm(this.file, { force: true });
    return isThere;
  }

  /** Runs a task while no other process does so for the same login. @throws BonsaiError `keys_locked` */
  async locked<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const { locked } = await import("@bonsai-agent/extension/login");
    const path = `${this.file}.lock`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return locked({ path, ...refreshLock, signal }, task);
  }

  #damaged(cause: unknown): BonsaiError {
    return new BonsaiError({
      code: "mcp_login_damaged",
      message: `Cannot read the login for the MCP server ${this.#server}: ${this.file} is damaged.`,
      hint: `Remove it with /mcp logout ${this.#server}, then log in again with /mcp login ${this.#server}.`,
      cause,
    });
  }
}
