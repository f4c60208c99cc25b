/**
 * xterm.js styles itself by <style> elements and style attributes, which the page's policy refuses. What a script does to style sheets and to
 * declarations is neither, and means the same; so while it makes its elements, those do that instead.
 *
 * Its option `documentOverride` does not do: of 6.0.0 the scroll bar and the cells are made by the page's own document, whatever it says.
 *
 * @source W3C Content Security Policy Level 3 section 6.7 (inline style); CSSOM section 6.1.2 (adoptedStyleSheets)
 */

/** Its text is a style sheet of the page until it is removed. */
const styleStandIn = (): HTMLElement => {
  const sheet = new CSSStyleSheet()
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet]
  // Never shown.
  const element = Document.prototype.createElement.call(document, "template")
  Object.defineProperties(element, {
    textContent: { set: (css: string) => sheet.replaceSync(css) },
    remove: {
      value: () => {
        document.adoptedStyleSheets = document.adoptedStyleSheets.filter((one) => one !== sheet)
        Element.prototype.remove.call(element)
      }
    }
  })
  return element
}

/** What is made meanwhile makes no <style> elements. */
export const withoutStyleElements = (make: () => void): void => {
  const createElement = (name: string) =>
    name === "style" ? styleStandIn() : Document.prototype.createElement.call(document, name)
  document.createElement = createElement as Document["createElement"]
  try {
    make()
  } finally {
    // What is left is the prototype's.
    Reflect.deleteProperty(document, "createElement")
  }
}

/** Cells are spans, made with each row that is drawn. From now on those of the page set declarations where they are given the attribute. */
export const spansWithoutStyleAttributes = (): void => {
  HTMLSpanElement.prototype.setAttribute = function (name, value) {
    if (name === "style") this.style.cssText = value
    else Element.prototype.setAttribute.call(this, name, value)
  }
}
