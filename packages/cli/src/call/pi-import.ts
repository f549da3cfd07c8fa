import { existsSync, readFileSync } from "node:fs";
import { isAbsolute, join, resolve } from "node:path";
import { agentSettings } from "@bonsai-agent/agent";
import { BonsaiError, isRecord } from "@bonsai-agent/messages";
import { KeyFile, loadCatalogue, thinkingLevels } from "@bonsai-agent/models";
import { writeWholeFile } from "@bonsai-agent/models/host";
import { readJsonFile } from "./json-file.ts";
import { userHomeFolder } from "./resource-places.ts";
import {
  leaves,
  readSettings,
  type SettingPath,
  settingsFile,
  valueAt,
  withValue,
  writeSetting,
} from "./settings-file.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export interface LeftBehind {
  name: string;
  why: string;
}

export interface PiImport {
  folder: string;
  /** Files, keys and settings that Bonsai has now. */
  taken: string[];
  left: LeftBehind[];
}

const FILES = ["models.json", "auth.json", "settings.json"] as const;
const OFFERED = "offered-pi-import";

/** The folder of pi's settings: `PI_CODING_AGENT_DIR`, else `~/.pi/agent`. */
export function piFolder(env: Environment): string {
  const userHome = userHomeFolder(env);
  const given = env.PI_CODING_AGENT_DIR?.trim() ?? "";
  return given === "" ? join(userHome, ".pi", "agent") : resolve(given.replace(/^~(?=$|[\\/])/, userHome));
}

export function hasPiSettings(folder: string): boolean {
  return FILES.some((name) => existsSync(join(folder, name)));
}

/** True once: Bonsai's folder has no settings yet, pi's has, and nobody was asked before. */
export function shouldOfferPiImport(home: string, env: Environment): boolean {
  const isNew = [...FILES, OFFERED].every((name) => !existsSync(join(home, name)));
  return isNew && hasPiSettings(piFolder(env));
}

export function rememberPiOffer(home: string): void {
  writeWholeFile(join(home, OFFERED), "");
}

/**
 * Takes over pi's models, API keys and settings. Existing values of Bonsai stay.
 * @throws BonsaiError if a file of Bonsai cannot be read or written
 */
export async function importFromPi(home: string, env: Environment): Promise<PiImport> {
  const folder = piFolder(env);
  const found: PiImport = { folder, taken: [], left: [] };
  await importModels(found, { home, env });
  importKeys(found, home);
  importSettings(found, home);
  return found;
}

async function importModels(
  { folder, taken, left }: PiImport,
  { home, env }: { home: string; env: Environment },
): Promise<void> {
  const name = "models.json";
  const [from, to] = [join(folder, name), join(home, name)];
  if (!existsSync(from)) return;
  if (existsSync(to)) {
    left.push({ name, why: `${to} exists. Copy the providers that you want by hand.` });
    return;
  }
  try {
    await loadCatalogue({ home: folder, env });
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    left.push({ name, why: error.message });
    return;
  }
  writeWholeFile(to, readFileSync(from, "utf8"));
  taken.push(`${name}: copied to ${to}`);
}

function importKeys({ folder, taken, left }: PiImport, home: string): void {
  const entries = readPi(folder, "auth.json", left);
  const keys = new KeyFile({ home, env: {} });
  const before = readJsonFile(join(home, "auth.json")) ?? {};
  for (const [provider, entry] of Object.entries(entries)) {
    const name = `auth.json: ${provider}`;
    const { type = "api_key", key } = isRecord(entry) ? entry : {};
    if (Object.hasOwn(before, provider))
      left.push({ name, why: "Bonsai has a key or login of this provider already." });
    else if (type !== "api_key" || typeof key !== "string")
      left.push({ name, why: `A login cannot move. Run \`bonsai login ${provider}\`.` });
    else if (/^[!$]/.test(key))
      left.push({
        name,
        why: `It is a variable or a command. Give it as apiKey of ${provider} in models.json.`,
      });
    else if (!succeeds(() => keys.store(provider, key)))
      left.push({ name, why: "It has characters that no key has." });
    else taken.push(`key of ${provider}`);
  }
}

/** @returns false if it throws a BonsaiError */
function succeeds(work: () => unknown): boolean {
  try {
    work();
    return true;
  } catch (error) {
    if (BonsaiError.is(error)) return false;
    throw error;
  }
}

/** A setting of Bonsai for one of pi; undefined if the value has no counterpart. */
type Counterpart = (value: unknown, folder: string) => [SettingPath, unknown] | undefined;

const same =
  (...path: string[]): Counterpart =>
  (value) => [path, value];

/** Files and folders; pi's patterns have no counterpart. */
const paths =
  (name: string): Counterpart =>
  (value, folder) => {
    const isPath = (entry: unknown) => typeof entry === "string" && !/^[!+-]|^builtin:/.test(entry);
    if (!Array.isArray(value) || value.length === 0 || !value.every(isPath)) return undefined;
    return [
      [name],
      value.map((path: string) => (isAbsolute(path) || path.startsWith("~") ? path : join(folder, path))),
    ];
  };

const COUNTERPARTS: Readonly<Record<string, Counterpart>> = {
  defaultModel: same("model"),
  defaultThinkingLevel: (value) => {
    const level = value === "max" ? "xhigh" : value;
    return thinkingLevels.some((each) => each === level) ? [["thinking"], level] : undefined;
  },
  enabledModels: same("favoriteModels"),
  externalEditor: same("editor"),
  theme: (value) => (value === "dark" || value === "light" ? [["theme"], value] : undefined),
  "compaction.enabled": same("compaction", "enabled"),
  "compaction.reserveTokens": same("compaction", "threshold", "reserveTokens"),
  "compaction.keepRecentTokens": same("compaction", "keepRecentTokens"),
  "retry.enabled": (value) => (value === false ? [["retry", "maxRetries"], 0] : undefined),
  "retry.maxRetries": same("retry", "maxRetries"),
  "retry.maxAgentDelayMs": same("retry", "maxDelayMs"),
  httpIdleTimeoutMs: (value) => [["retry", "silenceMs"], value === "disabled" ? 0 : value],
  extensions: paths("extensions"),
  skills: paths("skills"),
  prompts: paths("prompts"),
  themes: paths("themes"),
};

function importSettings({ folder, taken, left }: PiImport, home: string): void {
  const { $schema: _, ...given } = readPi(folder, "settings.json", left);
  const { defaultProvider, defaultModel, ...others } = given;
  // Pi names the model in two settings.
  const isModel = typeof defaultProvider === "string" && typeof defaultModel === "string";
  const settings = { ...others, ...(isModel && { defaultModel: `${defaultProvider}/${defaultModel}` }) };
  for (const [name, value] of leaves(settings)) {
    const shown = `settings.json: ${name}`;
    const counterpart = Object.hasOwn(COUNTERPARTS, name) ? COUNTERPARTS[name] : undefined;
    const [path, own] = counterpart?.(value, folder) ?? [];
    if (path === undefined)
      left.push({
        name: shown,
        why:
          name === "packages"
            ? "Add each package with `bonsai extension add npm:NAME`."
            : "Bonsai has no counterpart for it.",
      });
    else if (valueAt(readSettings(home), path) !== undefined)
      left.push({ name: shown, why: `${settingsFile(home)} sets ${path.join(".")} already.` });
    else if (!succeeds(() => agentSettings(withValue({}, path, own))))
      left.push({ name: shown, why: "Bonsai does not allow this value." });
    else {
      writeSetting(home, path, own);
      taken.push(`setting ${path.join(".")}`);
    }
  }
}

/** The object in a file of pi; empty if there is none, or if it cannot be read. */
function readPi(folder: string, name: string, left: LeftBehind[]): Record<string, unknown> {
  try {
    const value = readJsonFile(join(folder, name)) ?? {};
    if (isRecord(value)) return value;
    left.push({ name, why: "It is not a JSON object." });
  } catch (error) {
    const why = BonsaiError.is(error)
      ? "It is not valid JSON."
      : `It cannot be read: ${(error as Error).message}.`;
    left.push({ name, why });
  }
  return {};
}
