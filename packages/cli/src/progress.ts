import { statSync } from "node:fs";
import type { CliIo } from "./io.ts";
import { wantsColour } from "./output.ts";
import { renderLine, span } from "./views/line.ts";
import { bytes } from "./views/numbers.ts";

/** Work shorter than this shows nothing. */
const patienceMs = 500;
/** Reading a session whole is work in one go, in which no timer fires: what it takes is foretold by the size. */
const bytesReadInPatience = 40_000_000;

/**
 * Shows `label` on a terminal's stderr while the work takes longer than half a second, and then takes it away; work that
 * shows something itself hides it before, for good.
 */
export async function withProgress<T>(
  io: CliIo,
  label: string,
  work: (hide: () => void) => Promise<T>,
): Promise<T> {
  if (!io.stderr.isTTY) return work(() => {});
  let shown = false;
  const timer = setTimeout(() => {
    shown = true;
    show(io, label);
  }, patienceMs);
  const hide = () => {
    clearTimeout(timer);
    if (shown) clear(io);
    shown = false;
  };
  try {
    return await work(hide);
  } finally {
    hide();
  }
}

/** The same for work in one go on a file, shown from the start when the file is large. */
export function withReadingProgress<T>(io: CliIo, file: string, work: () => T): T {
  const sizeBytes = statSync(file, { throwIfNoEntry: false })?.size ?? 0;
  if (!io.stderr.isTTY || sizeBytes < bytesReadInPatience) return work();
  show(io, `Reading ${bytes(sizeBytes)}`);
  try {
    return work();
  } finally {
    clear(io);
  }
}

function show(io: CliIo, label: string): void {
  io.stderr.write(`\r${renderLine([span(`${label}…`, "gray")], wantsColour(io, io.stderr))}`);
}

function clear(io: CliIo): void {
  io.stderr.write("\r\u001b[K");
}
