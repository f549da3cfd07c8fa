import { basename } from "node:path";
import { pathToFileURL } from "node:url";
import { byScriptEstimator, type ExtensionContext, messageText } from "@bonsai-agent/extension";
import type { Client } from "@modelcontextprotocol/sdk/client/index.js";
import type {
  CreateMessageRequestParams,
  CreateMessageResult,
  ElicitRequestURLParams,
  ElicitResult,
} from "@modelcontextprotocol/sdk/types.js";
import { plainLine, plainPart } from "./foreign-text.ts";
import { fillForm } from "./form-dialog.ts";
import { mostCost, readSample, SamplingRefused, sampleResult } from "./sampling.ts";

export interface UserRequestsOptions {
  /** As it is now; undefined before there is a session. */
  context: () => ExtensionContext | undefined;
  /** Opens a page in the user's browser; false where that cannot be. */
  openBrowser: (url: string) => Promise<boolean>;
}

/** A server that asks. */
interface Asker {
  name: string;
  /** False: it is not told the project's folder. */
  hasRoots: boolean;
  /** As long as the user is asked; the function returned ends that. */
  pauseCalls: () => () => void;
}

/** Questions of one server that wait at one time. */
const mostWaiting = 3;
/** Questions of one server between two prompts of the user. */
const mostPerPrompt = 20;

/**
 * What servers ask of the user: each question is a dialog that names its server and ends with the server's request.
 * Owner of how often each server may ask.
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

  /** The user has said something: servers may ask again. */
  newPrompt(): void {
    for (const asked of this.#asked.values()) Object.assign(asked, { count: 0, isNotified: false });
  }

  /** Nothing that was said about a server holds any longer. */
  forget(): void {
    this.#asked.clear();
  }

  /** Answers what the server of this client asks; called before the client connects. */
  async attach(client: Client, { name: server, hasRoots, pauseCalls }: Asker): Promise<void> {
    const types = await import("@modelcontextprotocol/sdk/types.js");
    const { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } = types;
    const context = this.#options.context();
    if (hasRoots) {
      client.registerCapabilities({ roots: {} });
      client.setRequestHandler(ListRootsRequestSchema, () => ({ roots: rootsOf(this.#options.context()) }));
    }
    // A server that knows that nobody can be asked does not ask, or does not even offer what it would have to ask for.
    if (context?.hasUI !== true) return;
    client.registerCapabilities({ elicitation: { form: {}, url: {} }, sampling: {} });
    const cancels = new Cancellations(pauseCalls);
    client.setNotificationHandler(types.CancelledNotificationSchema, ({ params }) => cancels.cancel(params));
    client.setRequestHandler(ElicitRequestSchema, ({ params }, extra) =>
      cancels.during(extra, (signal) =>
        this.#counted(server, { action: "decline" } as ElicitResult, () =>
          params.mode === "url"
            ? this.#askToOpen(server, params as ElicitRequestURLParams, signal)
            : fillForm({
                ui: this.#context().ui,
                asker: askerOf(server),
                params,
                signal,
                onMute: () => this.#mute(server),
              }),
        ),
      ),
    );
    client.setRequestHandler(CreateMessageRequestSchema, ({ params }, extra) =>
      cancels.during(extra, async (signal) => {
        const answer = await this.#counted(server, undefined, () => this.#sample(server, params, signal));
        if (answer === undefined) throw new SamplingRefused("The user declined this request to the model.");
        return answer;
      }),
    );
  }

  /** Refused without a dialog where the server asks too often. */
  async #counted<Answer>(server: string, refused: Answer, ask: () => Promise<Answer>): Promise<Answer> {
    const asked = this.#asked.get(server) ?? { count: 0, waiting: 0, isMuted: false, isNotified: false };
    this.#asked.set(server, asked);
    if (asked.isMuted) return refused;
    if (asked.waiting >= mostWaiting || asked.count >= mostPerPrompt) {
      if (!asked.isNotified)
        this.#options
          .context()
          ?.ui.notify(
            `${askerOf(server)} asks too often. Bonsai declines its questions until your next prompt.`,
            "warning",
          );
      asked.isNotified = true;
      return refused;
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

  /** Undefined where the user does not want it. @throws SamplingRefused */
  async #sample(
    server: string,
    params: CreateMessageRequestParams,
    signal: AbortSignal,
  ): Promise<CreateMessageResult | undefined> {
    const { ui, model, modelRegistry } = this.#context();
    if (model === undefined) throw new SamplingRefused("No model is selected.");
    const { messages, systemPrompt, maxTokens, shown } = readSample(params, model);
    const promptTokens = byScriptEstimator.text(systemPrompt + messages.map(messageText).join("\n"));
    const isWanted = await ui.confirm(
      `${askerOf(server)} wants to ask ${model.provider}/${model.id}`,
      [
        `The request has about ${promptTokens.toLocaleString("en")} tokens, the answer at most ${maxTokens.toLocaleString("en")}. Cost: ${mostCost(model, promptTokens, maxTokens)}. The server receives the answer. The request:`,
        "",
        shown,
      ].join("\n"),
      { signal },
    );
    if (!isWanted || signal.aborted) return undefined;
    const answer = await modelRegistry.complete(
      model,
      { messages, ...(systemPrompt !== "" && { systemPrompt }) },
      { maxTokens, signal },
    );
    return sampleResult(answer);
  }
}

type RequestId = string | number;

/**
 * Questions of one server that are open. Each ends when the server does not wait any longer, which the SDK sees to for
 * every request but the first, 0; and as long as one is open, no call of the server runs out of time.
 */
class Cancellations {
  readonly #open = new Map<RequestId, AbortController>();
  readonly #pauseCalls: Asker["pauseCalls"];

  constructor(pauseCalls: Asker["pauseCalls"]) {
    this.#pauseCalls = pauseCalls;
  }

  cancel({ requestId, reason }: { requestId?: RequestId | undefined; reason?: string | undefined }): void {
    if (requestId !== undefined) this.#open.get(requestId)?.abort(reason);
  }

  async during<Result>(
    { requestId, signal }: { requestId: RequestId; signal: AbortSignal },
    task: (signal: AbortSignal) => Promise<Result>,
  ): Promise<Result> {
    const own = new AbortController();
    this.#open.set(requestId, own);
    const resume = this.#pauseCalls();
    try {
      return await task(AbortSignal.any([signal, own.signal]));
    } finally {
      this.#open.delete(requestId);
      resume();
    }
  }
}

const opening = {
  open: "Open in the browser",
  decline: "Decline",
  mute: "Decline, and block this server's questions for this session",
} as const;

/** Who asks, in every dialog. */
function askerOf(server: string): string {
  return `MCP server ${plainLine(server, 60)}`;
}

/** Undefined for what is no page: a file, a script, a program's own scheme. */
function webAddress(text: string): URL | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  return url?.protocol === "https:" || url?.protocol === "http:" ? url : undefined;
}

function rootsOf(context: ExtensionContext | undefined): { uri: string; name: string }[] {
  if (context === undefined) return [];
  return [{ uri: pathToFileURL(context.cwd).href, name: basename(context.cwd) }];
}
