//! Tables of columns of any kind, and the recipes that make features of them.

use lapwing::data::Error;
use lapwing::data::prepare::Recipe;

/// A recipe from its JSON.
pub fn parsed(recipe: &str) -> Result<Recipe, Error> {
    let expected = "the recipe_ of a TableEncoder";
    serde_json::from_str(recipe).map_err(|error| Error::param("recipe", error, expected))
}
