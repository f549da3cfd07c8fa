import { closeSync, openSync, writeSync } from "node:fs";
import type { BenchTable } from "@bonsai-agent/testkit";
import { BenchRun } from "./bench-run.ts";
import { megabytes, milliseconds, times } from "./figures.ts";

const SIZES_MB = [64, 128, 256];

export default async function bench(): Promise<BenchTable> {
  const run = new BenchRun();
  try {
    const runs = SIZES_MB.map((size) => {
      const file = run.file("long.jsonl");
      writeLongLine(file, size * 1_000_000);
      const measures = run.compare(["open naive", "open ours"], { file });
      // The peer's time grows with the square: once is enough.
      const peer = size === SIZES_MB.at(-1) ? run.compare(["open peer"], { file }, 1) : [];
      return { size, measures: new Map([...measures, ...peer]) };
    });
    const ours = runs.map(({ measures }) => measures.get("open ours")!.ms);
    const growth = ours.at(-1)! / ours[0]!;
    return {
      title: "Opening a session with one long line, with the first projection",
      columns: ["line", "way", "time", "memory"],
      rows: runs.flatMap(({ size, measures }) =>
        [...measures].map(([task, { ms, peakBytes }]) => [
          `${size} MB`,
          task,
          milliseconds(ms),
          megabytes(peakBytes),
        ]),
      ),
      notes: [
        `4 times the line takes ours ${times(growth)} (target: linear, at most 6x: ${growth <= 6 ? "met" : "MISSED"}).`,
      ],
    };
  } finally {
    run.end();
  }
}

/** A header, one tool result of so many bytes, and a short answer. */
function writeLongLine(file: string, bytes: number): void {
  const stamp = `"timestamp":"2026-01-05T09:00:00.000Z"`;
  const fd = openSync(file, "w");
  writeSync(fd, `{"type":"session","version":3,"id":"long",${stamp},"cwd":"/p"}\n`);
  writeSync(
    fd,
    `{"type":"message","id":"a1","parentId":null,${stamp},"message":{"role":"toolResult","toolCallId":"c","toolName":"bash","isError":false,"timestamp":0,"content":[{"type":"text","text":"`,
  );
  const piece = "the quick brown fox jumps over the lazy dog 0123456789 ".repeat(20_000);
  for (let left = bytes; left > 0; left -= piece.length) writeSync(fd, piece.slice(0, Math.max(0, left)));
  writeSync(
    fd,
    `"}]}}\n{"type":"message","id":"a2","parentId":"a1",${stamp},"message":{"role":"user","content":"next","timestamp":0}}\n`,
  );
  closeSync(fd);
}
