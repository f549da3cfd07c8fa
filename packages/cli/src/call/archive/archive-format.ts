import { isAbsolute } from "node:path";
import type { AgentSettings } from "@bonsai-agent/agent";
import { compactionSettingsSchema, settingsForModel } from "@bonsai-agent/compaction";
import { isRecord } from "@bonsai-agent/messages";
import type { Session } from "@bonsai-agent/session";
import { z } from "zod";

// A session in one file: a zip with the session's file, its sub-agents' files, git checkpoints and a manifest.

/** The names of files in the zip. */
export const SESSION_FILE = "session.jsonl";
export const MANIFEST_FILE = "manifest.json";
export const BUNDLE_FILE = "checkpoints.bundle";
/** Other files of a zip stay packed. The folder has the sessions of sub-agents. */
export const CARRIED_FILE =
  /^(?:session\.jsonl|manifest\.json|checkpoints\.bundle|session\.tasks\/[\w.-]+\.jsonl)$/;

export const ARCHIVE_VERSION = 1;

export const manifestSchema = z.object({
  format: z.literal("bonsai-session"),
  version: z.int().min(1),
  /** True if secrets were replaced. */
  redacted: z.boolean(),
  /** The settings at the export that decide how the session is continued, by their names. */
  settings: z.record(z.string().max(100), z.union([z.string().max(200), z.number(), z.boolean()])),
});

export type ArchiveManifest = z.infer<typeof manifestSchema>;
type CarriedSettings = ArchiveManifest["settings"];

/** A setting of an export, and its other value here. */
export interface ExportedSetting {
  name: string;
  value: CarriedSettings[string];
  here?: CarriedSettings[string];
}

/** The model, the thinking level, and settings that have another value here. */
export function comparedSettings(exported: CarriedSettings, here: CarriedSettings): ExportedSetting[] {
  return Object.entries(exported).flatMap(([name, value]) => {
    if (name === "model" || name === "thinking") return [{ name, value }];
    const own = Object.hasOwn(here, name) ? here[name] : undefined;
    return own === undefined || own === value ? [] : [{ name, value, here: own }];
  });
}

/** The settings in force for a session: its model, its thinking level, and all of `compaction` but the names of models. */
export function carriedSettings(settings: AgentSettings, session: Session): CarriedSettings {
  const { model, thinkingLevel = settings.thinking } = session.settings();
  const { provider = "", modelId: id = "" } = model ?? {};
  const own: Record<string, unknown> = settingsForModel(settings.compaction, { provider, id });
  // The names of models can name hosts, and a preset's policy is no setting.
  const names = Object.keys(compactionSettingsSchema.parse({})).filter((name) => name !== "models");
  return {
    // A scripted model is a file.
    ...(id !== "" && !isAbsolute(id) && { model: `${provider}/${id}` }),
    thinking: thinkingLevel,
    ...Object.assign({}, ...names.map((name) => flat(`compaction.${name}`, own[name]))),
  };
}

function flat(name: string, value: unknown): CarriedSettings {
  if (isRecord(value))
    return Object.assign({}, ...Object.entries(value).map(([key, each]) => flat(`${name}.${key}`, each)));
  return ["string", "number", "boolean"].includes(typeof value) ? { [name]: value as string } : {};
}
