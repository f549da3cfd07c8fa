import { createHash } from "node:crypto";
import { mkdir, readFile, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { BonsaiError } from "@bonsai-agent/extension";
import type {
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import type { HttpServer } from "./config.ts";

/** A login at one server. */
export interface StoredLogin {
  /** The authorization server of the tokens. A refresh asks no other one. */
  discovery: OAuthDiscoveryState;
  client: StoredOAuthClientInformation;
  tokens: StoredOAuthTokens;
  /** Milliseconds since 1970; absent if the tokens do not say. */
  expiresAt?: number;
}

/** Longer than any refresh, which asks twice at most. */
const LOCK = { staleMs: 90_000, waitMs: 90_000 };

/** Owner of the file of one server's login. Only the user can read it. */
export class LoginStore {
  readonly #server: string;
  readonly file: string;

  /** @param home Bonsai's own folder */
  constructor(home: string, { name, url }: Pick<HttpServer, "name" | "url">) {
    // A server of the same name at another address has another login.
    const digest = createHash("sha256").update(`${name}\n${url}`).digest("hex").slice(0, 16);
    this.#server = name;
    this.file = join(home, "mcp-logins", `${name}-${digest}.json`);
  }

  /** Returns undefined without a login. @throws BonsaiError `mcp_login_damaged` */
  async read(): Promise<StoredLogin | undefined> {
    try {
      const login = JSON.parse(await readFile(this.file, "utf8")) as StoredLogin;
      if (typeof login.tokens.access_token === "string" && typeof login.client.client_id === "string")
        return login;
      throw new Error("It has no token.");
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code === "ENOENT") return undefined;
      throw new BonsaiError({
        code: "mcp_login_damaged",
        message: `Cannot read the login for the MCP server ${this.#server}: ${this.file} is damaged.`,
        hint: `Remove it with /mcp logout ${this.#server}, then log in again with /mcp login ${this.#server}.`,
        cause,
      });
    }
  }

  async write(
    { discovery, client }: Pick<StoredLogin, "discovery" | "client">,
    tokens: StoredOAuthTokens,
  ): Promise<void> {
    const { writePrivateFile } = await import("@bonsai-agent/extension/login");
    const { expires_in: seconds } = tokens;
    const expiry = seconds === undefined ? {} : { expiresAt: Date.now() + seconds * 1_000 };
    const login: StoredLogin = { discovery, client, tokens, ...expiry };
    writePrivateFile(this.file, `${JSON.stringify(login, null, 2)}\n`);
  }

  /** @returns false if there was none */
  async remove(): Promise<boolean> {
    return rm(this.file).then(
      () => true,
      (error: NodeJS.ErrnoException) => {
        if (error.code === "ENOENT") return false;
        throw error;
      },
    );
  }

  /** Runs a task while no other process does so for the same login. @throws BonsaiError `keys_locked` */
  async locked<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const { locked } = await import("@bonsai-agent/extension/login");
    const path = `${this.file}.lock`;
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    return locked({ path, ...LOCK, signal }, task);
  }
}
