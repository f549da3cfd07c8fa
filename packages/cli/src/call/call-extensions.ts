import type { Agent, AgentNotice } from "@bonsai-agent/agent";
import type {
  ArgumentCompletion,
  ExtensionCommandInfo,
  Extensions,
  FlagOptions,
  ReloadOptions,
  ReloadReport,
} from "@bonsai-agent/extension/host";
import { describeNotice, type LifecycleNotice } from "@bonsai-agent/lifecycle";
import { type ExtensionChoice, mayHaveExtensions } from "./extension-choice.ts";
import type { StartExtensionsOptions } from "./start-extensions.ts";

interface CallExtensionsOptions extends Omit<StartExtensionsOptions, "first"> {
  /** Called after each load. */
  onLoad?: (report: ReloadReport) => void;
}

/** Owner of the extensions of one call. What runs them is loaded with the first that may be there, and not before. */
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

  /** Loads what can be found; undefined where that is nothing. Rejects where one that `-e` names cannot be loaded. */
  open(): Promise<void> | undefined {
    const choice = this.#options.choice();
    return mayHaveExtensions(choice) ? this.#open(choice) : undefined;
  }

  async #open(choice: ExtensionChoice): Promise<void> {
    const startedMs = performance.now();
    this.#running = await this.#start(choice);
    this.#notifyLoad(performance.now() - startedMs);
  }

  /** The notice for users of a notice of the lifecycle: once extensions are there, with places in their files. */
  noticeOf(notice: LifecycleNotice): AgentNotice {
    return this.#noticeOf(notice);
  }

  get loaded(): Extensions["loaded"] {
    return this.#running?.loaded ?? [];
  }

  get failed(): Extensions["failed"] {
    return this.#running?.failed ?? [];
  }

  get commands(): readonly ExtensionCommandInfo[] {
    return this.#running?.commands ?? [];
  }

  get flags(): ReadonlyMap<string, FlagOptions> {
    return this.#running?.flags ?? new Map();
  }

  /** How extensions draw what stands in a chat; undefined where there are none. */
  get renderers(): Extensions["renderers"] | undefined {
    return this.#running?.renderers;
  }

  attach(agent: Agent): void {
    this.#agent = agent;
    this.#running?.attach(agent);
  }

  hasCommand(text: string): boolean {
    return this.#running?.hasCommand(text) ?? false;
  }

  /** @throws BonsaiError `extension_command_failed` */
  async runCommand(text: string): Promise<void> {
    await this.#running?.runCommand(text);
  }

  async completeCommand(name: string, prefix: string): Promise<readonly ArgumentCompletion[]> {
    return (await this.#running?.completeCommand(name, prefix)) ?? [];
  }

  get shortcuts(): Extensions["shortcuts"] {
    return this.#running?.shortcuts ?? new Map();
  }

  /** @returns false where no extension put something on the key */
  async runShortcut(key: string): Promise<boolean> {
    return (await this.#running?.runShortcut(key)) ?? false;
  }

  /** Loads all anew, also those that were put there since. */
  async reload(options: ReloadOptions = {}): Promise<ReloadReport> {
    const report = await (this.#running?.reload(options) ?? this.#begin(options));
    this.#notifyLoad(report.elapsedMs);
    return report;
  }

  unload(): void {
    this.#running?.unload();
    this.#running = undefined;
  }

  async #begin(options: ReloadOptions): Promise<ReloadReport> {
    const startedMs = performance.now();
    const choice = this.#options.choice();
    if (mayHaveExtensions(choice)) {
      this.#running = await this.#start(choice);
      if (this.#agent !== undefined) this.#running.attach(this.#agent);
      const { lifecycle } = this.#options.host;
      await lifecycle.notify("session_start", { type: "session_start", reason: "reload" }, options);
    }
    await this.#options.host.onReload?.(options.signal ?? new AbortController().signal);
    return { loaded: this.loaded, failed: this.failed, elapsedMs: performance.now() - startedMs };
  }

  async #start(first: ExtensionChoice): Promise<Extensions> {
    const { startExtensions, lifecycleNotice } = await import("./start-extensions.ts");
    this.#noticeOf = lifecycleNotice;
    return startExtensions({ ...this.#options, first });
  }

  #notifyLoad(elapsedMs: number): void {
    this.#options.onLoad?.({ loaded: this.loaded, failed: this.failed, elapsedMs });
  }
}
