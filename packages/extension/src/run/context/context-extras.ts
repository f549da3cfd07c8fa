import type { ExtensionContext } from "../../api/extension-context.ts";
import type { OpenedModels } from "./opened-models.ts";

/** What a context is made of beside the host: for whom, and what it is given along with. */
export interface ContextExtras {
  /** The extension's path, as notices name it. */
  extensionPath: string;
  models: OpenedModels;
  /** Throws where the extension was unloaded: what was kept of it acts no more. */
  checkLoaded(call: string): void;
  /** Of the event, the tool call or the command; undefined where nothing goes on. */
  signal?: AbortSignal | undefined;
  /** Lays an adapter's names over a context that this one makes. Default: as it is. */
  adapt?: (<Context extends ExtensionContext>(context: Context) => Context) | undefined;
}

export interface CommandContextExtras extends ContextExtras {
  /** Loads all extensions anew. */
  reload(): Promise<unknown>;
}
