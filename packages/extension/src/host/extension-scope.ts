import { AsyncLocalStorage } from "node:async_hooks";
import { BonsaiError } from "@bonsai-agent/messages";
import { readableError } from "../load/thrown-error.ts";

/** The registrations of one extension, to undo when it is unloaded. */
export class ExtensionScope {
  readonly path: string;
  /** The path for people; the extension's name in the lifecycle and in notices. */
  readonly source: string;
  readonly #undos = new Set<() => void>();
  readonly #things = new Map<string, () => void>();
  #state: "loading" | "started" | "unloaded" = "loading";

  constructor({ path, source }: { path: string; source: string }) {
    this.path = path;
    this.source = source;
  }

  get isUnloaded(): boolean {
    return this.#state === "unloaded";
  }

  /** The extension's function has ended: calls that need a session are allowed. */
  start(): void {
    if (this.#state === "loading") this.#state = "started";
  }

  /** Keeps an undo until the scope is closed. The function returned runs it at once, only once. */
  keep(undo: () => void): () => void {
    const once = () => {
      if (this.#undos.delete(once)) undo();
    };
    this.#undos.add(once);
    return once;
  }

  /** As `keep`, and undoes the former registration of the same thing. */
  keepAs(thing: string, undo: () => void): () => void {
    const former = this.#things.get(thing);
    const once = this.keep(undo);
    this.#things.set(thing, once);
    former?.();
    return once;
  }

  /** Undoes everything, newest first; a second call does nothing. @returns the errors */
  close(): unknown[] {
    this.#state = "unloaded";
    return [...this.#undos].reverse().flatMap((undo) => {
      try {
        undo();
        return [];
      } catch (error) {
        return [error];
      }
    });
  }

  /** @throws BonsaiError `extension_unloaded` */
  checkLoaded(call: string): void {
    if (this.#state !== "unloaded") return;
    throw new BonsaiError({
      code: "extension_unloaded",
      message: `${this.source} called ${call} after it was unloaded.`,
      hint: "Stop the extension's timers and watchers in its session_shutdown handler. After ctx.reload(), return from the command at once.",
    });
  }

  /** @throws BonsaiError `extension_unloaded`, `extension_not_started` */
  checkStarted(call: string): void {
    this.checkLoaded(call);
    if (this.#state === "loading") throw this.notStarted(call);
  }

  notStarted(call: string): BonsaiError {
    return new BonsaiError({
      code: "extension_not_started",
      message: `${this.source} called ${call} before a session was open.`,
      hint: `Call ${call} in a handler, for example session_start.`,
    });
  }
}

/** The extension whose code runs, also in timers and promises. */
const atWork = new AsyncLocalStorage<ExtensionScope>();

/** Runs code of an extension. Makes thrown values and rejections readable errors. */
export function runOf<Result>(scope: ExtensionScope, work: () => Result): Result {
  try {
    const returned = atWork.run(scope, work);
    if (!isThenable(returned)) return returned;
    const settled = Promise.resolve(returned).catch((error: unknown) => {
      throw readableError(error);
    });
    return settled as Result;
  } catch (error) {
    throw readableError(error);
  }
}

/** The extension whose code runs or started the current work. */
export function extensionAtWork(): ExtensionScope | undefined {
  return atWork.getStore();
}

function isThenable(value: unknown): value is PromiseLike<unknown> {
  return typeof (value as PromiseLike<unknown> | undefined)?.then === "function";
}
