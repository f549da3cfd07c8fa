import type { Agent, AgentNotice } from "@bonsai-agent/agent";
import type { Extensions, ReloadOptions, ReloadReport } from "@bonsai-agent/extension/host";
import { describeNotice, type LifecycleNotice } from "@bonsai-agent/lifecycle";
import { mayHaveExtensions } from "./extension-choice.ts";
import type { StartExtensionsOptions } from "./start-extensions.ts";

interface CallExtensionsOptions extends StartExtensionsOptions {
  onLoad?: (report: ReloadReport) => void;
}

type Running = Omit<Extensions, "attach" | "load" | "reload" | "unload" | "renderers"> &
  Partial<Pick<Extensions, "renderers">>;

const NONE: Running = {
  loaded: [],
  failed: [],
  commands: [],
  flags: new Map(),
  shortcuts: new Map(),
  hasCommand: () => false,
  runCommand: async () => false,
  completeCommand: async () => [],
  runShortcut: async () => false,
};

/** Owner of the extensions of one call. Loads the code that runs them with the first extension. */
export class CallExtensions {
  readonly #options: CallExtensionsOptions;
  #running: Extensions | undefined;
  #agent: Agent | undefined;
  #noticeOf = (notice: LifecycleNotice): AgentNotice => ({
    level: "warning",
    code: notice.type,
    message: describeNotice(notice),
  });

  constructor(options: CallExtensionsOptions) {
    this.#options = options;
  }

  /** Undefined if there is nothing to load. @throws BonsaiError if an extension of `-e` fails */
  open(): Promise<void> | undefined {
    if (!mayHaveExtensions(this.#options.choice("startup"))) return undefined;
    const startedMs = performance.now();
    return this.#start().then(() => this.#notifyLoad(performance.now() - startedMs));
  }

  /** The user's notice for one of the lifecycle. With extensions, it names places in their files. */
  noticeOf(notice: LifecycleNotice): AgentNotice {
    return this.#noticeOf(notice);
  }

  /** The running extensions; empty before the first one is loaded. */
  get now(): Running {
    return this.#running ?? NONE;
  }

  attach(agent: Agent): void {
    this.#agent = agent;
    this.#running?.attach(agent);
  }

  async reload(options: ReloadOptions = {}): Promise<ReloadReport> {
    const report = await (this.#running?.reload(options) ?? this.#startLate(options));
    this.#notifyLoad(report.elapsedMs);
    return report;
  }

  unload(): void {
    this.#running?.unload();
    this.#running = undefined;
  }

  /** Loads the first extensions during a session. */
  async #startLate(options: ReloadOptions): Promise<ReloadReport> {
    const startedMs = performance.now();
    const { choice, host } = this.#options;
    if (mayHaveExtensions(choice("reload"))) {
      const running = await this.#start();
      if (this.#agent !== undefined) running.attach(this.#agent);
      await host.lifecycle.notify("session_start", { type: "session_start", reason: "reload" }, options);
    }
    await host.onReload?.(options.signal ?? new AbortController().signal);
    return { loaded: this.now.loaded, failed: this.now.failed, elapsedMs: performance.now() - startedMs };
  }

  async #start(): Promise<Extensions> {
    const { startExtensions, lifecycleNotice } = await import("./start-extensions.ts");
    this.#noticeOf = lifecycleNotice;
    this.#running = await startExtensions(this.#options);
    return this.#running;
  }

  #notifyLoad(elapsedMs: number): void {
    this.#options.onLoad?.({ loaded: this.now.loaded, failed: this.now.failed, elapsedMs });
  }
}
