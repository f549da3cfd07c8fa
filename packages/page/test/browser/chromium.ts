import { mkdirSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { inflate } from "@sparticuz/chromium";
import { type Browser, chromium } from "playwright-core";

/** Path of a Chromium, and the options of its process. */
export interface ChromiumProgram {
  executablePath: string;
  env: Record<string, string>;
}

/**
 * The program that `BONSAI_TEST_BROWSER` names, or the one that comes with a package, for a machine that has none; with
 * its own libraries and fonts, so that it draws the same everywhere. It is unpacked into the folder for temporary files.
 */
export async function chromiumProgram(): Promise<ChromiumProgram> {
  const named = process.env.BONSAI_TEST_BROWSER;
  if (named !== undefined && named !== "") return { executablePath: named, env: {} };
  const packed = join(dirname(createRequire(import.meta.url).resolve("@sparticuz/chromium")), "..", "bin");
  // By default, the package unpacks its libraries only on one vendor's machines.
  const [executablePath, libraries, fonts] = await Promise.all(
    ["chromium.br", "al2023.tar.br", "fonts.tar.br"].map((name) => inflate(join(packed, name))),
  );
  const settings = join(dirname(fonts!), "font-settings");
  mkdirSync(settings, { recursive: true });
  writeFileSync(
    join(settings, "fonts.conf"),
    `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig><dir>${fonts}</dir><cachedir>${settings}</cachedir></fontconfig>
`,
  );
  const env = { LD_LIBRARY_PATH: join(libraries!, "lib"), FONTCONFIG_PATH: settings };
  return { executablePath: executablePath!, env };
}

export function launch({ executablePath, env }: ChromiumProgram): Promise<Browser> {
  const { PATH, HOME, TMPDIR } = process.env;
  const known = Object.entries({ PATH, HOME, TMPDIR }).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const],
  );
  return chromium.launch({
    executablePath,
    env: { ...Object.fromEntries(known), ...env },
    // Containers lack Chromium's sandbox. Test pages run only the tested code.
    args: ["--no-sandbox"],
  });
}
