import { randomUUID } from "node:crypto";
import type { DialogOptions, FrontEndUI } from "@bonsai-agent/extension/host";
import { dialogEnd } from "../call/questions.ts";
import type { UiRequest, UiResponse } from "./protocol.ts";

type Question = Extract<UiRequest, { method: "select" | "confirm" | "input" | "editor" }>;
type Shown = Exclude<UiRequest, Question>;
type WithoutHead<Request> = Request extends UiRequest ? Omit<Request, "type" | "id"> : never;

/** Owner of the questions that wait for the client. */
export class RpcUi {
  readonly #write: (request: UiRequest) => void;
  readonly #open = new Map<string, (response: UiResponse | undefined) => void>();
  readonly #closed = new AbortController();
  #opened = Promise.withResolvers<void>();

  constructor(write: (request: UiRequest) => void) {
    this.#write = write;
  }

  /** Resolves when a question waits for its answer. */
  waiting(): Promise<void> {
    return this.#opened.promise;
  }

  /** Ignores late answers. */
  answer(response: UiResponse): void {
    this.#open.get(response.id)?.(response);
  }

  /** True if the client no longer answers. */
  get isClosed(): boolean {
    return this.#closed.signal.aborted;
  }

  /** Ends all questions without an answer. */
  close(): void {
    this.#closed.abort();
  }

  /** Extensions and the agent ask the client through this. */
  readonly ui: FrontEndUI = {
    select: async (title, options, settings) => {
      const response = await this.#ask({ method: "select", title, options: [...options] }, settings);
      const { value, cancelled } = response ?? {};
      return cancelled === true || value === undefined || !options.includes(value) ? undefined : value;
    },
    confirm: async (title, message, settings) => {
      const response = await this.#ask({ method: "confirm", title, message }, settings);
      return response?.cancelled !== true && response?.confirmed === true;
    },
    input: async (title, placeholder, settings) =>
      typed(await this.#ask({ method: "input", title, placeholder }, settings)),
    editor: async (title, prefill) => typed(await this.#ask({ method: "editor", title, prefill })),
    notify: (message, notifyType = "info") => this.#show({ method: "notify", message, notifyType }),
    setStatus: (statusKey, statusText) => this.#show({ method: "setStatus", statusKey, statusText }),
    setWidget: (widgetKey, lines, { placement: widgetPlacement = "aboveEditor" } = {}) =>
      this.#show({ method: "setWidget", widgetKey, widgetLines: lines && [...lines], widgetPlacement }),
    setTitle: (title) => this.#show({ method: "setTitle", title }),
    setEditorText: (text) => this.#show({ method: "set_editor_text", text }),
    // Only the client knows.
    getEditorText: () => "",
  };

  #show(shown: WithoutHead<Shown>): void {
    this.#write({ type: "extension_ui_request", id: randomUUID(), ...shown } as UiRequest);
  }

  /** Undefined without an answer. */
  #ask(question: WithoutHead<Question>, settings: DialogOptions = {}): Promise<UiResponse | undefined> {
    const end = dialogEnd(this.#closed.signal, settings);
    if (end.aborted) return Promise.resolve(undefined);
    const id = randomUUID();
    return new Promise((resolve) => {
      const ended = () => settle(undefined);
      const settle = (response: UiResponse | undefined) => {
        this.#open.delete(id);
        end.removeEventListener("abort", ended);
        if (this.#open.size === 0) this.#opened = Promise.withResolvers();
        resolve(response);
      };
      end.addEventListener("abort", ended, { once: true });
      this.#open.set(id, settle);
      this.#opened.resolve();
      const { timeout } = settings;
      this.#write({ type: "extension_ui_request", id, ...question, timeout } as UiRequest);
    });
  }
}

function typed(response: UiResponse | undefined): string | undefined {
  return response?.cancelled === true ? undefined : response?.value;
}
