import { createHash, randomUUID } from "node:crypto";
import { mkdir, open, readFile, rename, rm, stat, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { setTimeout as after } from "node:timers/promises";
import { BonsaiError } from "@bonsai-agent/extension";
import type { OAuthDiscoveryState } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthClientInformationMixed, OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";

/** What is known of a login at one server. */
export interface StoredLogin {
  /** Who gave the tokens: refreshing asks no one else, whatever the server says by then. */
  discovery: OAuthDiscoveryState;
  client: OAuthClientInformationMixed;
  tokens: OAuthTokens;
  /** Milliseconds since 1970; absent where the tokens do not say. */
  expiresAt?: number;
}

interface LoginStoreOptions {
  /** Bonsai's own folder. */
  home: string;
  server: string;
  url: string;
}

/** A lock that is older belongs to nobody any more: no refresh takes as long. */
const staleLockMs = 60_000;
const lockRetryMs = 25;

/** Owner of the file of one server's login, which nobody but the user can read. */
export class LoginStore {
  readonly #server: string;
  readonly file: string;

  constructor({ home, server, url }: LoginStoreOptions) {
    // A server of the same name at another address has another login.
    const digest = createHash("sha256").update(`${server}\n${url}`).digest("hex").slice(0, 16);
    this.#server = server;
    this.file = join(home, "mcp-logins", `${server}-${digest}.json`);
  }

  /** Undefined where there is no login. @throws BonsaiError `mcp_login_damaged` */
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

  /** Whole or not at all. */
  async write(login: StoredLogin): Promise<void> {
    await mkdir(dirname(this.file), { recursive: true, mode: 0o700 });
    const half = `${this.file}.${randomUUID()}`;
    await writeFile(half, `${JSON.stringify(login, null, 2)}\n`, { mode: 0o600, flag: "wx" });
    await rename(half, this.file);
  }

  /** @returns false where there was none */
  async remove(): Promise<boolean> {
    const isThere = (await stat(this.file).catch(() => undefined)) !== undefined;
    await rm(this.file, { force: true });
    return isThere;
  }

  /** Runs a task while no other process does so for the same login. */
  async locked<Result>(task: () => Promise<Result>, signal?: AbortSignal): Promise<Result> {
    const lock = `${this.file}.lock`;
    await mkdir(dirname(lock), { recursive: true, mode: 0o700 });
    while (!(await taken(lock))) {
      signal?.throwIfAborted();
      await after(lockRetryMs, undefined, { signal });
    }
    try {
      return await task();
    } finally {
      await rm(lock, { force: true });
    }
  }

  #damaged(cause: unknown): BonsaiError {
    return new BonsaiError({
      code: "mcp_login_damaged",
      message: `The login of the MCP server ${this.#server} cannot be read from ${this.file}.`,
      hint: `Forget it with /mcp logout ${this.#server}, and log in anew.`,
      cause,
    });
  }
}

/** False where another process has it. */
async function taken(lock: string): Promise<boolean> {
  try {
    await (await open(lock, "wx", 0o600)).close();
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  const found = await stat(lock).catch(() => undefined);
  if (found !== undefined && Date.now() - found.mtimeMs > staleLockMs) await rm(lock, { force: true });
  return false;
}
