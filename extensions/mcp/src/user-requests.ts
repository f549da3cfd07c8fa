import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { ExtensionContext } from "@bonsai-agent/extension";
import type { Client, ElicitRequestURLParams, ElicitResult } from "@modelcontextprotocol/client";
import type { ServerConfig } from "./config.ts";
import { plainLine, plainPart } from "./foreign-text.ts";
import { type FormRequest, fillForm, refusals } from "./form-dialog.ts";
import type { McpServer } from "./server.ts";

export interface UserRequestsOptions {
  /** The current context; undefined before the first session. */
  context: () => ExtensionContext | undefined;
  /** Opens a page in the user's browser. Returns false if it cannot. */
  openBrowser: (url: string) => Promise<boolean>;
}

/** A server with questions. */
type Asker = Pick<McpServer, "name" | "pauseCalls"> & { config: Pick<ServerConfig, "hasRoots"> };

/** Open questions of one server. */
const MAX_WAITING = 3;
/** Questions of one server between two prompts of the user. */
const MAX_PER_PROMPT = 20;

const OPEN = "Open in the browser";

/**
 * Questions of servers to the user. A dialog names its server, and closes if the server cancels the question.
 * Owner of the number of questions that each server may ask.
 */
export class UserRequests {
  readonly #options: UserRequestsOptions;
  readonly #asked = new Map<
    string,
    { count: number; waiting: number; isMuted: boolean; isNotified: boolean }
  >();

  constructor(options: UserRequestsOptions) {
    this.#options = options;
  }

  /** Lets servers ask again after a prompt of the user. */
  newPrompt(): void {
    for (const asked of this.#asked.values()) Object.assign(asked, { count: 0, isNotified: false });
  }

  /** Answers the questions of this client's server. Called before the client connects. */
  attach(client: Client, asker: Asker): void {
    const { name: server, config } = asker;
    if (config.hasRoots) {
      client.registerCapabilities({ roots: {} });
      client.setRequestHandler("roots/list", () => ({ roots: rootsOf(this.#options.context()) }));
    }
    // Without a user, the server learns that it cannot ask.
    if (this.#options.context()?.hasUI !== true) return;
    client.registerCapabilities({ elicitation: { form: {}, url: {} } });
    const onMute = () => {
      this.#countsOf(server).isMuted = true;
    };
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq: { signal } }) => {
      const resumeCalls = asker.pauseCalls();
      try {
        return await this.#counted(server, ({ ui }) => {
          const request = { ui, asker: askerOf(server), signal, onMute };
          if (params.mode === "url") return this.#askToOpen(request, params);
          return fillForm({ ...request, params });
        });
      } finally {
        resumeCalls();
      }
    });
  }

  #countsOf(server: string) {
    const asked = this.#asked.get(server) ?? { count: 0, waiting: 0, isMuted: false, isNotified: false };
    this.#asked.set(server, asked);
    return asked;
  }

  /** Declines without a dialog if the server asks too often. */
  async #counted(
    server: string,
    ask: (ctx: ExtensionContext) => Promise<ElicitResult>,
  ): Promise<ElicitResult> {
    const asked = this.#countsOf(server);
    const context = this.#options.context();
    if (asked.isMuted || context === undefined) return { action: "decline" };
    if (asked.waiting >= MAX_WAITING || asked.count >= MAX_PER_PROMPT) {
      if (!asked.isNotified)
        context.ui.notify(
          `${askerOf(server)} asks too often. Bonsai declines its questions until your next prompt.`,
          "warning",
        );
      asked.isNotified = true;
      return { action: "decline" };
    }
    asked.count++;
    asked.waiting++;
    try {
      return await ask(context);
    } finally {
      asked.waiting--;
    }
  }

  async #askToOpen(
    request: Omit<FormRequest, "params">,
    params: ElicitRequestURLParams,
  ): Promise<ElicitResult> {
    const { ui, asker, signal, onMute } = request;
    const url = URL.parse(params.url);
    // Not a file, a script or the scheme of a program.
    if (url?.protocol !== "https:" && url?.protocol !== "http:") {
      ui.notify(
        `Refused to open ${plainLine(params.url)} for ${asker}: only http and https are allowed.`,
        "warning",
      );
      return { action: "decline" };
    }
    const title = `${asker} asks you to open a page on ${url.host}:\n${plainPart(params.message, 1_000)}\n${url.href}`;
    const chosen = await ui.select(title, [OPEN, refusals.decline, refusals.mute], { signal });
    if (chosen === undefined || signal.aborted) return { action: "cancel" };
    if (chosen === refusals.mute) onMute();
    if (chosen !== OPEN) return { action: "decline" };
    if (!(await this.#options.openBrowser(url.href)))
      ui.notify(`Cannot open a browser. Open this page yourself: ${url.href}`, "warning");
    return { action: "accept" };
  }
}

/** The name of the server in every dialog. */
function askerOf(server: string): string {
  return `MCP server ${plainLine(server, 60)}`;
}

function rootsOf(context: ExtensionContext | undefined): { uri: string; name: string }[] {
  if (context === undefined) return [];
  return [{ uri: pathToFileURL(context.cwd).href, name: basename(context.cwd) }];
}
