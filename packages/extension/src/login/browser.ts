import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** Time for an opener to report that it found no browser. */
const SETTLED_MS = 2_000;

/** The environment that decides if a browser can open. */
export interface BrowserPlace {
  env?: Readonly<Record<string, string | undefined>> | undefined;
  /** Default `process.platform`. */
  platform?: NodeJS.Platform | undefined;
}

/**
 * Opens an address in the user's browser, without a shell. Returns false if it cannot: over SSH, without a display, in CI,
 * or for an address other than http and https. Show the address then.
 */
export async function openBrowser(url: string, desktop: BrowserPlace = {}): Promise<boolean> {
  const { env = process.env } = desktop;
  const opener = openerOf(url, desktop);
  return opener !== undefined && (await run(opener, new URL(url).href, env));
}

/**
 * Opens a secret address. Other users can read a program's arguments, so the browser gets a file that redirects there and
 * that only its owner can read. Opens nothing where `openBrowser` opens nothing, or if the browser belongs to another
 * system and cannot read the file. `forget` removes the file.
 */
export async function openPrivately(
  url: string,
  desktop: BrowserPlace = {},
): Promise<{ isOpen: boolean; forget: () => void }> {
  const { env = process.env } = desktop;
  const opener = openerOf(url, desktop);
  if (opener === undefined || env.WSL_DISTRO_NAME) return { isOpen: false, forget: () => {} };
  const folder = mkdtempSync(join(tmpdir(), "bonsai-page-"));
  const remove = () => rmSync(folder, { recursive: true, force: true });
  process.once("exit", remove);
  const forget = () => {
    process.off("exit", remove);
    remove();
  };
  try {
    const file = join(folder, "open.html");
    const target = new URL(url).href.replace(/[&"<>]/g, (character) => `&#${character.charCodeAt(0)};`);
    writeFileSync(file, `<!doctype html><meta http-equiv="refresh" content="0;url=${target}">\n`, {
      mode: 0o600,
    });
    return { isOpen: await run(opener, pathToFileURL(file).href, env), forget };
  } catch (error) {
    forget();
    throw error;
  }
}

type Opener = readonly [program: string, ...args: string[]];

function openerOf(
  url: string,
  { env = process.env, platform = process.platform }: BrowserPlace,
): Opener | undefined {
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return undefined;
  // Editors on another machine set it, so it counts over SSH too. A command with arguments would need a shell.
  const own = env.BROWSER?.trim();
  if (own !== undefined && own !== "" && !/[\s%:]/.test(own)) return [own];
  if (env.CI || env.SSH_CONNECTION || env.SSH_TTY) return undefined;
  if (platform === "darwin") return ["open"];
  if (platform === "win32") return ["rundll32", "url.dll,FileProtocolHandler"];
  if (env.WSL_DISTRO_NAME) return ["rundll32.exe", "url.dll,FileProtocolHandler"];
  return env.DISPLAY || env.WAYLAND_DISPLAY ? ["xdg-open"] : undefined;
}

function run(
  [program, ...args]: Opener,
  address: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<boolean> {
  return new Promise((resolve) => {
    const child = spawn(program, [...args, address], { env, detached: true, stdio: "ignore" });
    const timer = setTimeout(() => resolve(true), SETTLED_MS);
    const settle = (isOpen: boolean) => {
      clearTimeout(timer);
      resolve(isOpen);
    };
    child.once("error", () => settle(false));
    child.once("exit", (code) => settle(code === 0));
    child.unref();
  });
}
