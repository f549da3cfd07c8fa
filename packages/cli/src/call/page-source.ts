import { closeSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { budgetsFor, type CompactionSettings, thresholdTokens } from "@bonsai-agent/compaction";
import {
  type Catalogue,
  classifyFailure,
  type KeyFile,
  loadCatalogue,
  ProviderError,
} from "@bonsai-agent/models";
import { knownSecrets } from "@bonsai-agent/models/host";
import { type PageOptions, type PageSource, SessionPage } from "@bonsai-agent/page";
import { bonsaiHome, openSession, type Session } from "@bonsai-agent/session";
import { freeAmong } from "../views/session-facts.ts";
import type { CliIo } from "./io.ts";

interface PageOptionsFrom {
  home: string;
  env: CliIo["env"];
  catalogue: KnownModels;
  /** Default: the stored keys. */
  keys?: Partial<Pick<KeyFile, "secrets">>;
  settings: CompactionSettings;
  /** False leaves secrets in. Default: true. */
  redact?: boolean;
  /** The program that wrote the session. Default: Bonsai. */
  program?: string | undefined;
}

type KnownModels = Pick<Catalogue, "models" | "providers">;

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
      const threshold = thresholdTokens(settings, budgetsFor({ settings, model }));
      return threshold === undefined ? undefined : { windowTokens, thresholdTokens: threshold };
    },
  };
}

/** The stored keys and those of the environment. */
export function secretsOf({
  home,
  env,
  catalogue,
  keys,
}: Pick<PageOptionsFrom, "home" | "env" | "catalogue" | "keys">): string[] {
  const inEnvironment = catalogue.providers.flatMap(({ apiKeyEnv }) => env[apiKeyEnv ?? ""] ?? []);
  const stored = keys?.secrets?.() ?? knownSecrets(home);
  return [...stored.map(({ value }) => value), ...inEnvironment];
}

/** Skips an unreadable catalogue of the user, with a notice. */
export function knownCatalogue(
  { env }: Pick<CliIo, "env">,
  onNotice: (notice: { code: string; message: string }) => void,
): Promise<KnownModels> {
  return loadCatalogue({
    home: bonsaiHome(env),
    env,
    onUnusable: ({ code, message }) =>
      onNotice({ code, message: `${message} The page ignores the models and API keys of this file.` }),
  });
}

/** Changes with the file. */
function fileState(file: string): string {
  const { size = 0, mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${size} ${mtimeMs}`;
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
  let known: FileBeginning | undefined;
  return {
    state: () => fileState(file),
    open() {
      const opened = read();
      const beginning = new FileBeginning(file);
      const isAddedTo = known?.isBeginningOf(beginning) ?? false;
      page = (isAddedTo ? page?.reopen(opened) : undefined) ?? new SessionPage(opened, options);
      known = beginning;
      session?.close();
      session = opened;
      return page;
    },
  };
}

const TAIL_BYTES = 4_096;

/** Tells whether text was only appended to a file. */
class FileBeginning {
  readonly #file: string;
  readonly #stats: Stats | undefined;
  readonly #tail: Buffer;

  constructor(file: string) {
    this.#file = file;
    this.#stats = statSync(file, { throwIfNoEntry: false });
    this.#tail = tailOf(file, this.#stats?.size ?? 0);
  }

  isBeginningOf(later: FileBeginning): boolean {
    const [before, after] = [this.#stats, later.#stats];
    if (before === undefined || after === undefined || before.ino !== after.ino) return false;
    if (after.size === before.size) return after.mtimeMs === before.mtimeMs;
    return after.size > before.size && tailOf(this.#file, before.size).equals(this.#tail);
  }
}

function tailOf(file: string, sizeBytes: number): Buffer {
  const length = Math.min(TAIL_BYTES, sizeBytes);
  const bytes = Buffer.alloc(length);
  const handle = openSync(file, "r");
  try {
    return bytes.subarray(0, readSync(handle, bytes, 0, length, sizeBytes - length));
  } finally {
    closeSync(handle);
  }
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
