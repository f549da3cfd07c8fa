export {
  appearanceOf,
  type ColorMode,
  colorOfOpening,
  colorOpening,
  isLight,
  type Rgb,
  rgbOf,
  type ThemeColors,
  type ThemeColorValue,
  withFallbacks,
} from "./theme-colors.ts";
export {
  type ThemeBg,
  type ThemeColor,
  type ThemeToken,
  themeTokenNames,
  tokenFacts,
} from "./theme-tokens.ts";
