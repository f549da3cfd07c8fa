import type { ExtensionAPI } from "../api/extension-api.ts";
import type { EntryRenderer, MessageRenderer } from "../api/renderer.ts";
import { badArgument } from "./bad-argument.ts";
import type { ExtensionPlace } from "./room.ts";

type Rendering = Pick<ExtensionAPI, "registerMessageRenderer" | "registerEntryRenderer">;

/** How an extension draws what it puts into the session. */
export function rendering({ room, scope }: ExtensionPlace): Rendering {
  const { path, source } = scope;
  const check = (call: keyof Rendering, customType: unknown, renderer: unknown) => {
    scope.checkLoaded(call);
    if (typeof customType !== "string" || customType === "")
      throw badArgument(scope, call, "a customType, a text", customType);
    if (typeof renderer !== "function")
      throw badArgument(scope, `${call}("${customType}", …)`, "a renderer, a function", renderer);
  };
  return {
    registerMessageRenderer(customType, renderer) {
      check("registerMessageRenderer", customType, renderer);
      const value = { renderer: renderer as MessageRenderer, scope };
      const undo = room.messageRenderers.add({ name: customType, value, source, path });
      return scope.keepAs(`renderer of messages ${customType}`, undo);
    },
    registerEntryRenderer(customType, renderer) {
      check("registerEntryRenderer", customType, renderer);
      const value = { renderer: renderer as EntryRenderer, scope };
      const undo = room.entryRenderers.add({ name: customType, value, source, path });
      return scope.keepAs(`renderer of entries ${customType}`, undo);
    },
  };
}
