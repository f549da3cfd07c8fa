import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import type { ExtensionContext } from "@bonsai-agent/extension";
import type { Client, ElicitRequestURLParams, ElicitResult } from "@modelcontextprotocol/client";
import { plainLine, plainPart } from "./foreign-text.ts";
import { fillForm } from "./form-dialog.ts";

export interface UserRequestsOptions {
  /** The current context; undefined before the first session. */
  context: () => ExtensionContext | undefined;
  /** Opens a page in the user's browser. Returns false if it cannot. */
  openBrowser: (url: string) => Promise<boolean>;
}

/** A server with questions. */
interface Asker {
  name: string;
  /** False hides the project's folder. */
  hasRoots: boolean;
  /** Called for each question. Returns a function to call after the answer. */
  pauseCalls: () => () => void;
}

/** Open questions of one server. */
const MAX_WAITING = 3;
/** Questions of one server between two prompts of the user. */
const MAX_PER_PROMPT = 20;

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
  attach(client: Client, { name: server, hasRoots, pauseCalls }: Asker): void {
    if (hasRoots) {
      client.registerCapabilities({ roots: {} });
      client.setRequestHandler("roots/list", () => ({ roots: rootsOf(this.#options.context()) }));
    }
    // Without a user, the server learns that it cannot ask.
    if (this.#options.context()?.hasUI !== true) return;
    client.registerCapabilities({ elicitation: { form: {}, url: {} } });
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq: { signal } }) => {
      const resume = pauseCalls();
      try {
        return await this.#counted(server, () =>
          params.mode === "url"
            ? this.#askToOpen(server, params, signal)
            : fillForm({
                ui: this.#context().ui,
                asker: askerOf(server),
                params,
                signal,
                onMute: () => this.#mute(server),
              }),
        );
      } finally {
        resume();
      }
    });
  }

  /** Declines without a dialog if the server asks too often. */
  async #counted(server: string, ask: () => Promise<ElicitResult>): Promise<ElicitResult> {
    const declined: ElicitResult = { action: "decline" };
    const asked = this.#asked.get(server) ?? { count: 0, waiting: 0, isMuted: false, isNotified: false };
    this.#asked.set(server, asked);
    if (asked.isMuted) return declined;
    if (asked.waiting >= MAX_WAITING || asked.count >= MAX_PER_PROMPT) {
      if (!asked.isNotified)
        this.#options
          .context()
          ?.ui.notify(
            `${askerOf(server)} asks too often. Bonsai declines its questions until your next prompt.`,
            "warning",
          );
      asked.isNotified = true;
      return declined;
    }
    asked.count++;
    asked.waiting++;
    try {
      return await ask();
    } finally {
      asked.waiting--;
    }
  }

  #mute(server: string): void {
    const asked = this.#asked.get(server);
    if (asked !== undefined) asked.isMuted = true;
  }

  #context(): ExtensionContext {
    const context = this.#options.context();
    if (context === undefined) throw new Error("No session is open.");
    return context;
  }

  async #askToOpen(
    server: string,
    params: ElicitRequestURLParams,
    signal: AbortSignal,
  ): Promise<ElicitResult> {
    const { ui } = this.#context();
    const url = webAddress(params.url);
    if (url === undefined) {
      ui.notify(
        `Refused to open ${plainLine(params.url)} for ${askerOf(server)}: only http and https are allowed.`,
        "warning",
      );
      return { action: "decline" };
    }
    const chosen = await ui.select(
      `${askerOf(server)} asks you to open a page on ${url.host}:\n${plainPart(params.message, 1_000)}\n${url.href}`,
      [opening.open, opening.decline, opening.mute],
      { signal },
    );
    if (chosen === undefined || signal.aborted) return { action: "cancel" };
    if (chosen === opening.mute) this.#mute(server);
    if (chosen !== opening.open) return { action: "decline" };
    if (!(await this.#options.openBrowser(url.href)))
      ui.notify(`Cannot open a browser. Open this page yourself: ${url.href}`, "warning");
    return { action: "accept" };
  }
}

const opening = {
  open: "Open in the browser",
  decline: "Decline",
  mute: "Decline, and block this server's questions for this session",
} as const;

/** The name of the server in every dialog. */
function askerOf(server: string): string {
  return `MCP server ${plainLine(server, 60)}`;
}

/** Undefined for anything but a web page: a file, a script, a program's own scheme. */
function webAddress(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}

function rootsOf(context: ExtensionContext | undefined): { uri: string; name: string }[] {
  if (context === undefined) return [];
  return [{ uri: pathToFileURL(context.cwd).href, name: basename(context.cwd) }];
}
