import type { ExtensionCommandContext, ExtensionContext } from "../../api/extension-context.ts";
import type { ExtensionHost } from "../extension-host.ts";
import type { CommandContextExtras, ContextExtras } from "./context-extras.ts";

/** What handlers, tools and shortcuts get; made for each call. Its getters read the host when they are asked. */
export function makeContext(_host: ExtensionHost, _extras: ContextExtras): ExtensionContext {
  throw new Error("Not built yet.");
}

/** What command handlers get. */
export function makeCommandContext(
  _host: ExtensionHost,
  _extras: CommandContextExtras,
): ExtensionCommandContext {
  throw new Error("Not built yet.");
}
