import { de } from "./de.ts";
import { en } from "./en.ts";
import { es } from "./es.ts";
import { fr } from "./fr.ts";
import { it } from "./it.ts";
import { ja } from "./ja.ts";
import { ko } from "./ko.ts";
import type { Lexicon } from "./lexicon.ts";
import { pt } from "./pt.ts";
import { ru } from "./ru.ts";
import { zh } from "./zh.ts";

/** The languages whose cues are known. */
export type Language = "en" | "de" | "fr" | "es" | "pt" | "it" | "ru" | "zh" | "ja" | "ko";

export const lexicons: Record<Language, Lexicon> = { en, de, fr, es, pt, it, ru, zh, ja, ko };
