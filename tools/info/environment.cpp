// The environment: values, where they come from, what they take.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "base/env.hpp"
#include "facts.hpp"
#include "transport/gather.hpp"
#include "transport/nic_map.hpp"

namespace info {
namespace {

namespace env = dds::env;

// Only the processor knows which kernels run here; a map has a grammar.
dds::Result<void> judge(const env::Variable& variable)
{
    DDS_TRY(env::check(variable));
    if (strcmp(variable.name, "DDSTORE_KERNEL") == 0)
        return dds::gather_select(env::text(variable.name).value_or("auto"));
    if (strcmp(variable.name, "DDSTORE_NIC_MAP") == 0)
        DDS_TRY(dds::parse_nic_map(env::text(variable.name).value_or(""), variable.name));
    return {};
}

void tell(Sheet& sheet, const env::Variable& variable)
{
    const char* set = secure_getenv(variable.name);
    const bool given = set && *set;
    const Value value = given ? Value(set) : variable.preset[0] ? Value(variable.preset) : Value();
    Fields fields{{"value", value},
                  {"from", given ? "environment" : "default"},
                  {"takes", variable.takes},
                  {"meaning", variable.meaning}};
    std::string words = given ? "environment" : "default";
    if (const auto right = judge(variable); !right) {
        fields.push_back({"error", right.error().text});
        words += ", WRONG";
        sheet.problem(right.error().text);
        unsetenv(variable.name);
    }
    words += std::string("; ") + variable.takes + ": " + variable.meaning;
    sheet.fact(variable.name, object(fields), words);
}

bool known(std::string_view name)
{
    for (const env::Variable& variable : env::variables())
        if (name == variable.name)
            return true;
    return false;
}

}  // namespace

void tell_environment(Sheet& sheet)
{
    sheet.section("environment");
    std::vector<std::string> strangers;
    for (char** entry = environ; *entry; entry++) {
        const std::string_view name(*entry, strcspn(*entry, "="));
        if (name.starts_with("DDSTORE_") && !known(name))
            strangers.emplace_back(name);
    }
    for (const env::Variable& variable : env::variables())
        tell(sheet, variable);
    for (const std::string& name : strangers) {
        const std::string text = name + " is not a variable that the library reads";
        sheet.fact(
            name,
            object({{"value", getenv(name.c_str())}, {"from", "environment"}, {"error", text}}),
            "environment, WRONG; the library does not read it");
        sheet.problem("environment variable " + text + ": is the name misspelt?");
    }
}

}  // namespace info
