import { type Stats, statSync } from "node:fs";
import {
  budgetsFor,
  type CompactionSettings,
  settingsForModel,
  thresholdTokens,
} from "@bonsai-agent/compaction";
import { type Catalogue, classifyFailure, ProviderError } from "@bonsai-agent/models";
import { type PageOptions, type PageSource, SessionPage } from "@bonsai-agent/page";
import { openSession, type Session } from "@bonsai-agent/session";
import { freeAmong } from "../views/session-facts.ts";
import type { AppContext } from "./app-context.ts";
import { type SecretPlaces, secretsOf } from "./catalogue.ts";

interface PageOptionsFrom extends SecretPlaces {
  catalogue: Pick<Catalogue, "models" | "providers">;
  settings: CompactionSettings;
  redact?: boolean;
  /** The program that wrote the session. Default: Bonsai. */
  program?: string | undefined;
}

export function pageOptions(from: PageOptionsFrom): PageOptions {
  const { catalogue, settings, redact = true, program } = from;
  const known = new Map(catalogue.models.map((model) => [`${model.provider}/${model.id}`, model]));
  return {
    redact,
    secrets: redact ? secretsOf(from) : [],
    isFree: freeAmong(catalogue.models),
    ...(program !== undefined && { program }),
    isOverflow: ({ errorMessage = "", provider, model }) =>
      classifyFailure({
        error: new ProviderError({ kind: "refused", message: errorMessage }),
        provider,
        modelId: model,
      }).kind === "inputTooLong",
    modelSizes(provider, id) {
      const model = known.get(`${provider}/${id}`);
      const windowTokens = model?.contextWindow;
      if (model === undefined || windowTokens === undefined || windowTokens === 0) return undefined;
      const own = settingsForModel(settings, model);
      const threshold = thresholdTokens(own, budgetsFor({ settings: own, model }));
      return threshold === undefined ? undefined : { windowTokens, thresholdTokens: threshold };
    },
  };
}

export function livePageOptions({ home, models, settings, call }: AppContext): PageOptions {
  const { catalogue, keys } = models;
  return pageOptions({ home, env: call.io.env, catalogue, keys, settings: settings.compaction });
}

/**
 * A session file that another program may write: each change is read, and nothing is written.
 * @param read opens the session. Default: the file itself is one
 */
export function filePageSource(
  file: string,
  options: PageOptions,
  read: () => Session = () => openSession(file),
): PageSource {
  let session: Session | undefined;
  let page: SessionPage | undefined;
  let known: Stats | undefined;
  return {
    state() {
      const { size = 0, mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
      return `${size} ${mtimeMs}`;
    },
    open() {
      const opened = read();
      const stats = statSync(file, { throwIfNoEntry: false });
      const before = isAppended(known, stats) ? page : undefined;
      page = before?.reopen(opened) ?? new SessionPage(opened, options);
      known = stats;
      session?.close();
      session = opened;
      return page;
    },
  };
}

/** True for the same file if it is longer or unchanged: programs append to sessions and transcripts. */
function isAppended(before: Stats | undefined, after: Stats | undefined): boolean {
  if (before === undefined || after?.ino !== before.ino) return false;
  return after.size > before.size || (after.size === before.size && after.mtimeMs === before.mtimeMs);
}

/** The program's own session, with entries that are not on disk. */
export function livePageSource(session: () => Session, options: PageOptions): PageSource {
  let page: SessionPage | undefined;
  return {
    state: () => `${session().id} ${session().index().count} ${session().leafId}`,
    open: () => {
      page = page?.reopen(session()) ?? new SessionPage(session(), options);
      return page;
    },
  };
}
