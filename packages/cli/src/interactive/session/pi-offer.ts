import { importFromPi, piFolder, rememberPiOffer, shouldOfferPiImport } from "../../call/pi-import.ts";
import { errorText } from "../../views/error-text.ts";
import type { InteractiveContext } from "../interactive-context.ts";
import { askYesOrNo } from "../panels/ask.ts";

/** At the first start, asks once whether to take over pi's models, keys and settings. */
export async function offerPiImport({ screen, home, call, notify }: InteractiveContext): Promise<void> {
  const { env } = call.io;
  if (!shouldOfferPiImport(home, env)) return;
  const folder = piFolder(env);
  const answer = await askYesOrNo(screen, {
    title: "Use your models, keys and settings of pi?",
    message: `They are in ${folder}. Bonsai copies them and changes nothing there. Later: bonsai import-settings pi`,
    // The user may be typing already.
    typeThrough: (data) => screen.typeThrough(data),
  });
  try {
    rememberPiOffer(home);
    if (answer !== true) return;
    const { taken, left } = await importFromPi(home, env);
    if (taken.length > 0) notify(`Took from pi: ${taken.join(", ")}.`);
    const kept = left.map(({ name, why }) => `${name}. ${why}`);
    if (kept.length > 0) notify(["Left in pi's folder:", ...kept].join("\n"), "warning");
  } catch (error) {
    notify(`Could not take over everything from pi: ${errorText(error)}`, "error");
  }
}
