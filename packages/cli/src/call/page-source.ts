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
  /** The keys in use. Default: the stored ones */
  keys?: Partial<Pick<KeyFile, "secrets">>;
  settings: CompactionSettings;
  /** False to leave secrets in. Default: true */
  redact?: boolean;
  /** Whose session it was. Default: Bonsai's */
  program?: string | undefined;
}

type KnownModels = Pick<Catalogue, "models" | "providers">;

/** What a page says beyond its session: the windows and prices of models, and which keys it must not show. */
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

/** Keys that no export holds: those that are stored, and those of the environment. */
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

/** The models and providers that are known; of a user's own that cannot be read, `onNotice` is told, and they are left aside. */
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

/** Another text after each change of a file. */
function fileState(file: string): string {
  const { size = 0, mtimeMs = 0 } = statSync(file, { throwIfNoEntry: false }) ?? {};
  return `${size} ${mtimeMs}`;
}

/**
 * A session file for who looks at it while another program writes: what is new is read after each change, nothing is written.
 * @param read the session that the file holds. Default: it is one itself
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

/** A file as it was once: whether it was only added to since. */
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

/** The last bytes of so many; fewer where the file has become shorter. */
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

/** The session that this program works on, with what is not on disk. */
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
