import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type CompactionSettings, compactionSettings } from "@bonsai-agent/compaction";
import { BonsaiError } from "@bonsai-agent/messages";
import { bonsaiHome } from "@bonsai-agent/session";
import type { Invocation } from "./invocation.ts";

/** The `compaction` settings of a call: the user's file, over it the environment, over it the flags. */
export function callSettings({ io, options }: Invocation): CompactionSettings {
  const file = join(bonsaiHome({ ...io.env }), "settings.json");
  const own = compactionSection(file);
  validate(own, file);
  return withFlags(layered(own, environmentSettings(io.env)), options);
}

/** What stands below the flags is valid: what is wrong now is a flag. */
function withFlags(section: Section, options: Section): CompactionSettings {
  try {
    return compactionSettings(layered(section, flagSettings(options)));
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    const flag = options.preset === undefined ? "--keep" : "--preset";
    throw new BonsaiError({
      code: "wrong_usage",
      message: `${flag} ${JSON.stringify(options[flag.slice(2)])}: ${error.message}`,
      hint: `Correct ${flag}, or leave it out.`,
      cause: error,
    });
  }
}

/** Values in the file are told of with the file's name; a wrong flag has no file. */
function validate(section: Section, file: string): void {
  try {
    compactionSettings(section);
  } catch (error) {
    if (!BonsaiError.is(error)) throw error;
    throw new BonsaiError({
      code: "settings_invalid",
      message: `${file}: ${error.message}`,
      hint: error.hint,
      cause: error,
    });
  }
}

type Section = Readonly<Record<string, unknown>>;

function compactionSection(file: string): Section {
  const settings = settingsIn(file);
  const section = isSection(settings) ? settings.compaction : settings;
  if (section === undefined) return {};
  if (isSection(section)) return section;
  const key = isSection(settings) ? "compaction" : "the whole file";
  throw new BonsaiError({
    code: "settings_invalid",
    message: `${file}: ${key} is ${JSON.stringify(section)}; allowed is an object.`,
    hint: 'Write it as {"compaction": {"keepRecentTokens": 20000}}, or remove it.',
  });
}

function settingsIn(file: string): unknown {
  const text = textOf(file);
  if (text === undefined) return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new BonsaiError({
      code: "settings_unreadable",
      message: `${file} is no JSON: ${(cause as Error).message}.`,
      hint: "Mend the file, or move it away to work with the defaults.",
      cause,
    });
  }
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8").replace(/^\ufeff/, "");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

function environmentSettings(env: Readonly<Record<string, string | undefined>>): Section {
  const off = env.BONSAI_DISABLE_MASK;
  return off === undefined || off === "" || off === "0" ? {} : { mask: { enabled: false } };
}

/** Who names the tokens to keep means them, whatever the preset does to manual compactions. */
function flagSettings({ preset, keep }: Section): Section {
  return {
    ...(preset === undefined ? {} : { preset }),
    ...(keep === undefined ? {} : { keepRecentTokens: keep, manualKeep: "same" }),
  };
}

/** `over` laid on `base`, key by key where both are objects. */
function layered(base: Section, over: Section): Section {
  const keys = Object.entries(over).map(([key, above]): [string, unknown] => {
    const below = base[key];
    return [key, isSection(below) && isSection(above) ? layered(below, above) : above];
  });
  return { ...base, ...Object.fromEntries(keys) };
}

function isSection(value: unknown): value is Section {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
