import { createHash } from "node:crypto";
import { existsSync, readFileSync } from "node:fs";

/** The page's program and its styles, as they are built. */
export interface PageBundle {
  script: string;
  style: string;
  /** For a Content-Security-Policy, in its form: `'sha256-…'`. */
  scriptHash: string;
  styleHash: string;
}

let bundle: PageBundle | undefined;

/** Reads the bundle that lies beside this program. */
export function pageBundle(): PageBundle {
  bundle ??= readBundle();
  return bundle;
}

function readBundle(): PageBundle {
  // Beside what is built; the sources stand one folder beside it.
  const beside = new URL("./page-bundle/", import.meta.url);
  const folder = existsSync(beside) ? beside : new URL("../dist/page-bundle/", import.meta.url);
  // What would end the element that holds it is written in another way; strings stay what they are.
  const script = readFileSync(new URL("page.js", folder), "utf8").replaceAll("</script", "<\\/script");
  const style = readFileSync(new URL("page.css", folder), "utf8");
  return { script, style, scriptHash: hashOf(script), styleHash: hashOf(style) };
}

function hashOf(text: string): string {
  return `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
}
