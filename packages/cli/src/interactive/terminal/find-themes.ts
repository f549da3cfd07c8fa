import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import type { AgentNotice } from "@bonsai-agent/agent";
import type { ThemeColors } from "@bonsai-agent/extension/themes";
import { BonsaiError } from "@bonsai-agent/messages";
import type { ResourcePlace } from "../../call/resource-places.ts";
import { counted } from "../../views/numbers.ts";

export interface FoundThemes {
  /** By name. */
  themes: ReadonlyMap<string, ThemeColors>;
  /** Files that cannot be used. */
  broken: readonly string[];
  /** Files that cannot be used, and themes of which another has the name. */
  notices: readonly AgentNotice[];
}

/**
 * The themes in files, of the places in their order: of two with one name, the later stands.
 * @param taken names that themes without a file have
 */
export async function findThemes(
  places: readonly ResourcePlace[],
  taken: readonly string[],
): Promise<FoundThemes> {
  const files = await themeFiles(places);
  const themes = new Map<string, ThemeColors>();
  const broken: string[] = [];
  const notices: AgentNotice[] = [];
  // Whoever has no files does not wait for what reads them.
  const { readThemeFile } = files.length === 0 ? {} : await import("./theme-file.ts");
  for (const file of files) {
    try {
      const theme = await readThemeFile!(file);
      const other =
        themes.get(theme.name)?.path ?? (taken.includes(theme.name) ? "the built-in theme" : undefined);
      if (other !== undefined)
        notices.push({
          level: "info",
          code: "theme_twice",
          message: `Theme ${theme.name} in ${file} overrides ${other}.`,
        });
      themes.set(theme.name, theme);
    } catch (error) {
      broken.push(file);
      notices.push({ level: "warning", code: "theme_left_out", message: problemText(file, error) });
    }
  }
  return { themes, broken, notices: fewNotices(notices) };
}

/** Each notice is a line on the screen: of a folder full of broken files, a few say enough. */
const MAX_NOTICES = 8;

function fewNotices(notices: readonly AgentNotice[]): readonly AgentNotice[] {
  const more = notices.length - MAX_NOTICES;
  if (more <= 0) return notices;
  const message = `${counted(more, "more theme file")} with errors or with the name of another theme.`;
  return [...notices.slice(0, MAX_NOTICES), { level: "warning", code: "theme_left_out", message }];
}

/** Why a file of a theme cannot be used, for people. */
function problemText(file: string, error: unknown): string {
  if (BonsaiError.is(error)) return `Theme file ${error.message} ${error.hint}`;
  return `Cannot read the theme ${file}: ${(error as Error).message}`;
}

/** The files of the places, each once; a folder is not searched deeper. */
async function themeFiles(places: readonly ResourcePlace[]): Promise<string[]> {
  const found = await Promise.all(places.map(({ path }) => filesAt(path)));
  return [...new Set(found.flat())];
}

async function filesAt(path: string): Promise<string[]> {
  try {
    if (path.endsWith(".json") && (await stat(path)).isFile()) return [path];
    const names = await readdir(path);
    return names
      .filter((name) => name.endsWith(".json"))
      .sort()
      .map((name) => join(path, name));
  } catch {
    // It need not exist; whoever names one that does not is told so by whoever reads that name.
    return [];
  }
}
