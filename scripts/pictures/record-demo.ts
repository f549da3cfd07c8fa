import type { FilmOptions } from "./film.ts";
import type { Studio } from "./studio.ts";

/** `bonsai demo` as one plays it on the first day: a whole session with its compactions, then its tree. */
export async function recordDemo(studio: Studio): Promise<FilmOptions> {
  const recorder = studio.open({ columns: 84, rows: 28 });
  await recorder.until("No model");
  recorder.type("/demo\n");
  // A film that starts with an empty screen looks broken.
  await recorder.until("▸ read");
  const frames = recorder.film();
  await recorder.until("t /tree");
  await recorder.still();
  return {
    frames,
    columns: recorder.columns,
    lengthMs: 45_000,
    title: "bonsai demo: a whole session on a scripted model, its compactions as they happen",
  };
}
