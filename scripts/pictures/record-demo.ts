import { setTimeout as pause } from "node:timers/promises";
import type { FilmOptions } from "./film.ts";
import type { Studio } from "./studio.ts";

const keyMs = 90;

/** `/demo` as one plays it on the first day: a whole session with its compactions, then its tree. */
export async function recordDemo(studio: Studio): Promise<FilmOptions> {
  const recorder = studio.open({ columns: 84, rows: 28 });
  await recorder.until("/demo plays");
  const frames = recorder.film();
  await pause(1_200);
  await recorder.type("/demo", keyMs);
  await pause(400);
  await recorder.type("\n");
  await recorder.until("t /tree");
  await recorder.still();
  return {
    frames,
    columns: recorder.columns,
    lengthMs: 45_000,
    title: "bonsai demo: a whole session on a scripted model, its compactions as they happen",
  };
}
