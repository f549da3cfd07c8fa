import { statSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const imageEnding = /\.(png|jpe?g|gif|webp)$/i;

/**
 * The mention of an image that was dropped on the terminal, which pastes its path then: quoted, escaped or as a URL, as
 * terminals do. Undefined for every other text.
 */
export function droppedImage(pasted: string): string | undefined {
  const path = pathIn(pasted.trim());
  if (path === undefined || !imageEnding.test(path) || /["\n]/.test(path) || !isFile(path)) return undefined;
  return /[\s'`<>()[\]{}]/.test(path) ? `@"${path}"` : `@${path}`;
}

function pathIn(text: string): string | undefined {
  const [, , quoted] = /^(['"])(\/[^'"]*)\1$/.exec(text) ?? [];
  if (quoted !== undefined) return quoted;
  if (text.startsWith("file:///")) return pathOfUrl(text);
  return /^~?\//.test(text) ? text.replace(/\\([ -~])/g, "$1") : undefined;
}

function pathOfUrl(text: string): string | undefined {
  try {
    return fileURLToPath(text);
  } catch {
    // It only looks like one: the text stays as it was pasted.
    return undefined;
  }
}

function isFile(path: string): boolean {
  try {
    const absolute = path.startsWith("~/") ? join(homedir(), path.slice(2)) : path;
    return statSync(absolute, { throwIfNoEntry: false })?.isFile() === true;
  } catch {
    // Too long for a path, or in a folder that is closed.
    return false;
  }
}
