import type { ExtensionAdapter, ExtensionAPI } from "@bonsai-agent/extension";
import { onceTold, type Tell } from "./api/once-told.ts";
import { piApi } from "./api/pi-api.ts";
import { piContext } from "./context/pi-context.ts";
import { PromptEvents } from "./events/prompt-events.ts";
import { writtenForPi } from "./origin/written-for-pi.ts";

/**
 * Lays pi's names that have no place in Bonsai over the API and the context. Where a name means one thing here and
 * another in pi (streamed events, the files of a compaction), extensions that were written for pi get pi's.
 */
export function piAdapter(): ExtensionAdapter {
  const prompts = new PromptEvents();
  const known = new Map<string, { api: ExtensionAPI; isForPi: boolean; tell: Tell }>();
  return {
    api(api, extension) {
      const isForPi = writtenForPi(extension.path);
      const tell = onceTold(extension);
      known.set(extension.path, { api, isForPi, tell });
      return piApi(api, { extension, prompts, isForPi, tell });
    },
    context(context, { path }) {
      const extension = known.get(path);
      return extension === undefined ? context : piContext(context, { ...extension, prompts });
    },
  };
}
