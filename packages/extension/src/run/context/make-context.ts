import { modelNotice, summariserFor } from "@bonsai-agent/agent";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ExtensionContext } from "../../api/extension-context.ts";
import type { ScopedHost } from "../scoped-host.ts";
import type { ContextExtras } from "./context-extras.ts";
import { contextUsage } from "./context-usage.ts";
import { modelRegistryOf } from "./model-registry.ts";
import { requestCompaction } from "./request-compaction.ts";
import { sessionManagerOf } from "./session-manager.ts";
import { silentUi } from "./silent-ui.ts";

/** What handlers, tools and shortcuts get; made for each call. Its getters read the host when they are asked. */
export function makeContext(host: ScopedHost, extras: ContextExtras): ExtensionContext {
  const { extensionPath, models, signal, checkLoaded } = extras;
  const model = () => host.agent()?.model ?? host.model?.();
  const session = () => host.session() ?? notStarted(extensionPath);
  return {
    get ui() {
      return host.ui ?? silentUi(host, extensionPath);
    },
    get mode() {
      return host.mode;
    },
    get hasUI() {
      return host.ui !== undefined;
    },
    get cwd() {
      return host.cwd;
    },
    sessionManager: sessionManagerOf(session),
    modelRegistry: modelRegistryOf({ models, current: model, onNotice: (notice) => host.onNotice(notice) }),
    get model() {
      return model();
    },
    get thinkingLevel() {
      return host.agent()?.state.thinking;
    },
    signal,
    isIdle: () => host.agent()?.isBusy !== true,
    isProjectTrusted: () => host.isProjectTrusted(),
    hasPendingMessages() {
      const { steering = [], followUps = [] } = host.agent()?.state ?? {};
      return steering.length + followUps.length > 0;
    },
    abort() {
      checkLoaded("ctx.abort");
      // What is stopped tells of itself; nobody waits here.
      host
        .agent()
        ?.abort()
        .catch(() => {});
    },
    shutdown() {
      checkLoaded("ctx.shutdown");
      host.shutdown();
    },
    getContextUsage: () => contextUsage(host),
    compact(options) {
      checkLoaded("ctx.compact");
      requestCompaction(host, extras, options);
    },
    getSystemPrompt: () => host.agent()?.systemPrompt ?? "",
    summariserFor(asked) {
      const cacheKey = host.session()?.id;
      return summariserFor({
        models: models.get().client,
        model: asked,
        ...(cacheKey === undefined ? {} : { cacheKey }),
        onNotice: (notice) => host.onNotice(modelNotice(notice)),
      });
    },
  };
}

function notStarted(extensionPath: string): never {
  throw new BonsaiError({
    code: "extension_not_started",
    message: `${extensionPath} asked for the session while there was none yet.`,
    hint: "Ask for it in a handler, for instance in that of session_start.",
  });
}
